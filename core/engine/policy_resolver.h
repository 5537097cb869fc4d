// SPDX-License-Identifier: Apache-2.0
// MakeResolver returns what decides the policy of a view: the one that its
// configuration names, or the choice of `policy = auto`.
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
  // Gives the memory of each view, and which views are inside others. Null: one
  // view alone, with the default memory. Outlives the resolver.
  const MountConfig* config = nullptr;
  // As in TierMaker::TierShare.
  const std::vector<ViewConfig>* given = nullptr;
  // Gives the unfinished epoch in which the last mount ended. May be null.
  const Ledger* ledger = nullptr;
};

// Resolves policies by name. Resolves `auto` by the dataset, the machine's
// memory and the device.
PolicyResolver MakeResolver(const ResolverParts& parts);

// Returns tools for setups through which nothing is read. Names show what the
// plan says. `source` and `config` outlive the tools. `config` may be null, as
// above.
SetupTools ToolsWithoutMount(const SourceDir& source, const PolicySet& policies,
                             const MountConfig* config = nullptr);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_ENGINE_POLICY_RESOLVER_H_
