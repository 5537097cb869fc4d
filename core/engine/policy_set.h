// SPDX-License-Identifier: Apache-2.0
// PolicySet has the policies that an engine can run. The engine knows no
// others. policies/registry.h fills it.
#ifndef SHUFFLEFS_CORE_ENGINE_POLICY_SET_H_
#define SHUFFLEFS_CORE_ENGINE_POLICY_SET_H_

#include <functional>

#include "core/policy/policy_entry.h"

namespace shufflefs {

// A plain value. Any thread may call its functions.
struct PolicySet {
  PolicyTable table;  // constant
  // For `policy = auto`: chooses a policy of the table by the facts.
  std::function<AutoChoice(const DatasetFacts&)> choose;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_ENGINE_POLICY_SET_H_
