// SPDX-License-Identifier: Apache-2.0
// The policies that an engine can run, as it is given them: it knows none by
// itself (policies/registry.h fills this in).
#ifndef SHUFFLEFS_CORE_ENGINE_POLICY_SET_H_
#define SHUFFLEFS_CORE_ENGINE_POLICY_SET_H_

#include <functional>

#include "core/policy/policy_entry.h"

namespace shufflefs {

// A plain value; any thread may call what is in it.
struct PolicySet {
  PolicyTable table;  // constant
  // `policy = auto`: looks at the facts and chooses one of the table.
  std::function<AutoChoice(const DatasetFacts&)> choose;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_ENGINE_POLICY_SET_H_
