// SPDX-License-Identifier: Apache-2.0
// Columnar files whose rows may belong to those of others, such as X.parquet
// and y.parquet, though no rule says so. With an order for each, rows would get
// the labels of others.
//
// A series is the files of one directory and format whose names differ in
// digits only: the shards of one table. Random numbers, such as UUIDs, and what
// follows a "=" count as digits. Two series are companions if
// * their paths differ in one part, a directory or the name of the file, and
//   not in digits only;
// * not more than eight names are alike so, because such are the parts of one
//   table;
// * they have the same number of files; and
// * one by one, in the order of their numbers, these have as many rows. Arrow
//   files do not say how many rows they have: there it is record batches.
//
// Names find the series that might be companions. The rows are known when their
// files are indexed, so such series are settled together, as a group.
#ifndef SHUFFLEFS_CORE_RECORDS_CONTAINERS_ROW_COMPANIONS_H_
#define SHUFFLEFS_CORE_RECORDS_CONTAINERS_ROW_COMPANIONS_H_

#include <cstddef>
#include <functional>
#include <string>

#include "core/dataset/dataset.h"
#include "core/records/containers/container_finder.h"
#include "core/records/containers/container_group.h"

namespace shufflefs {

// Adds a group for all series that might be companions of each other. Leaves
// out files that `rules` name: the user says that their rows are their own.
void FindRowCompanions(const Dataset& dataset, const RecordRules& rules,
                       FoundContainers& found);

// Replaces the shapes of companions by the reason why they keep their order.
// `path_at` returns the path of a container index. Companions of one row group
// each are left alone, as nothing of them moves. REQUIRES: `found` has all
// members of `group`, which FindRowCompanions made.
void LeaveCompanions(const ContainerGroup& group,
                     const std::function<std::string(size_t)>& path_at,
                     MemberShapes& found);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTAINERS_ROW_COMPANIONS_H_
