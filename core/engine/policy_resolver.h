// SPDX-License-Identifier: Apache-2.0
// Which policy a view runs: the one that its configuration names, or what
// `policy = auto` chooses.
#ifndef SHUFFLEFS_CORE_ENGINE_POLICY_RESOLVER_H_
#define SHUFFLEFS_CORE_ENGINE_POLICY_RESOLVER_H_

#include <memory>

#include "core/config/config.h"
#include "core/engine/device_finder.h"
#include "core/engine/policy_set.h"
#include "core/ledger/ledger.h"
#include "core/source/source_dir.h"
#include "core/view/view_setup.h"

namespace shufflefs {

struct ResolverParts {
  PolicySet policies;
  std::shared_ptr<DeviceFinder> devices;
  // Says what memory a view has, and which views lie inside of others; null:
  // one view alone, with the memory of a mount that says nothing. Outlives the
  // resolver.
  const MountConfig* config = nullptr;
  // Says in the middle of which epoch the last mount ended; may be null.
  const Ledger* ledger = nullptr;
};

// Resolves policies by name, and `auto` by looking at the dataset, the
// machine's memory and the device.
PolicyResolver MakeResolver(const ResolverParts& parts);

// For setups that nothing is read through: names show what the plan says.
// `source` and `config`, which may be null as above, outlive them.
SetupTools ToolsWithoutMount(const SourceDir& source, const PolicySet& policies,
                             const MountConfig* config = nullptr);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_ENGINE_POLICY_RESOLVER_H_
