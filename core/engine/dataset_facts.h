// SPDX-License-Identifier: Apache-2.0
// FactsOf collects what `policy = auto` decides by, for a mount and for
// `shufflectl check`.
#ifndef SHUFFLEFS_CORE_ENGINE_DATASET_FACTS_H_
#define SHUFFLEFS_CORE_ENGINE_DATASET_FACTS_H_

#include <cstdint>
#include <string>

#include "core/catalogue/catalogue.h"
#include "core/config/config.h"
#include "core/dataset/grouping.h"
#include "core/dataset/substitution_safety.h"
#include "core/policy/policy_entry.h"
#include "core/records/containers/container_set.h"
#include "core/source/device_probe.h"

namespace shufflefs {

struct FactsInput {
  const Catalogue* catalogue = nullptr;
  DirId root{0};  // of the view
  const Grouping* grouping = nullptr;
  const SubstitutionSafety* substitution_safety = nullptr;
  const DeviceProbe* device = nullptr;
  const ViewConfig* config = nullptr;
  PolicyTable policies;
  OpenMode open = OpenMode::kAuto;
  bool has_peers = false;
  const ContainerSet* containers = nullptr;  // null: there are none
  uint64_t machine_memory = 0;               // bytes; 0 = not known
  uint64_t view_memory = 0;  // bytes that `memory` gives the view
  std::string under_way;     // policy of an unfinished epoch; "" if none
};

// Pure. Linear in the number of samples.
DatasetFacts FactsOf(const FactsInput& input);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_ENGINE_DATASET_FACTS_H_
