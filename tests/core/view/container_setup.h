// SPDX-License-Identifier: Apache-2.0
// How a view is made of containers: *.bin with records of 1000 bytes each.
#ifndef SHUFFLEFS_TESTS_CORE_VIEW_CONTAINER_SETUP_H_
#define SHUFFLEFS_TESTS_CORE_VIEW_CONTAINER_SETUP_H_

#include <memory>
#include <utility>

#include "core/base/status.h"
#include "core/view/view.h"
#include "core/view/view_setup.h"
#include "policies/registry.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/view/view_fixture.h"

namespace shufflefs::testing_support {

inline ViewConfig ContainerConfig() {
  ViewConfig config;
  config.policy = "reimu";
  config.record.as = "*.bin:fixed";
  config.record.bytes = 1000;
  return config;
}

// `tree` outlives the tools.
inline SetupTools ContainerTools(TempTree& tree,
                                 std::shared_ptr<RecordProducer> pool) {
  SetupTools tools;
  tools.policies = Policies();
  tools.resolver = ByName();
  tools.containers =
      [&tree](const ViewConfig& config, std::shared_ptr<const Dataset> dataset,
              const Policy&) -> absl::StatusOr<std::shared_ptr<ContainerSet>> {
    auto containers = std::make_shared<ContainerSet>(
        std::move(dataset), *RecordRules::Parse(config.record));
    containers->Index(tree.Source(), {});
    return containers;
  };
  tools.records =
      [pool = std::move(pool)](
          const ViewConfig&, const std::shared_ptr<const Dataset>&,
          const Policy& policy,
          const WantedRecords& wanted) -> absl::StatusOr<ViewRecords> {
    ViewRecords records;
    records.containers = wanted.containers;
    if (policy.name() != "native") records.producer = pool;  // it shuffles none
    return records;
  };
  return tools;
}

// What a view of them is made of. `tree` and `job_tracker` outlive it.
inline absl::StatusOr<View::Parts> ContainerParts(
    const ViewConfig& config, std::shared_ptr<const Catalogue> catalogue,
    SetupTools tools, JobTracker& job_tracker) {
  View::Parts parts;
  parts.tools = std::move(tools);
  ASSIGN_OR_RETURN(parts.setup, MakeViewSetup(config, std::move(catalogue),
                                              parts.tools, nullptr));
  parts.job_tracker = &job_tracker;
  parts.on_rebind = [](bool) {};
  return parts;
}

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_VIEW_CONTAINER_SETUP_H_
