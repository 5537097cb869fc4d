// SPDX-License-Identifier: Apache-2.0
// A series is the files of one directory and format whose names differ in
// digits only: the shards of one table. Random numbers, such as UUIDs, and what
// follows a "=" count as digits.
#ifndef SHUFFLEFS_CORE_RECORDS_CONTAINERS_ROW_SERIES_H_
#define SHUFFLEFS_CORE_RECORDS_CONTAINERS_ROW_SERIES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/dataset/dataset.h"
#include "core/records/containers/container_finder.h"
#include "core/records/containers/container_group.h"

namespace shufflefs {

// More names of a format than these that are alike are parts of one table.
inline constexpr size_t kMostCompanions = 8;

struct RowSeries {
  std::string path;  // in the view, the name without its numbers
  ContainerGroup::Series series;
};

// "part-0012.parquet" becomes "part-#.parquet". Tables have other parts that
// are no companions of each other: directories "label=cat", and files with
// random numbers in their names.
std::string WithoutNumbers(absl::string_view name);

absl::string_view WithoutExtension(absl::string_view name);

// The series of containers whose rows may belong to those of others, and of
// files that are none but whose names are alike to theirs, such as y.npy beside
// X.parquet. Adds the latter to `found.beside`. Leaves out columnar files that
// `rules` name.
std::vector<RowSeries> FindRowSeries(const Dataset& dataset,
                                     const RecordRules& rules,
                                     FoundContainers& found);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTAINERS_ROW_SERIES_H_
