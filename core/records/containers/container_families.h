// SPDX-License-Identifier: Apache-2.0
// Decides from names and rights which containers of a view have their records
// mixed with each other's (record.scope).
#ifndef SHUFFLEFS_CORE_RECORDS_CONTAINERS_CONTAINER_FAMILIES_H_
#define SHUFFLEFS_CORE_RECORDS_CONTAINERS_CONTAINER_FAMILIES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "core/config/record_options.h"
#include "core/dataset/dataset.h"
#include "core/formats/record_format.h"
#include "core/formats/table/record_rules.h"
#include "core/records/containers/container_finder.h"

namespace shufflefs {

// Why the records of a file of this name cannot be mixed with others. "" if
// they may.
std::string ScopeObjection(absl::string_view name, const RecordFormat& format,
                           RecordScope scope);

// Makes families of the containers that were found: sets of shards, or all
// containers of a view that have one format and one set of options. No record
// is shown as part of a file that more users may read than its own. REQUIRES:
// record.scope is not kFile.
void MakeFamilies(const Dataset& dataset, const RecordRules& rules,
                  FoundContainers& found);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTAINERS_CONTAINER_FAMILIES_H_
