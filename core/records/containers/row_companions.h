// SPDX-License-Identifier: Apache-2.0
// Containers whose rows may belong to those of others, such as X.parquet and
// y.parquet, or the images and labels of MNIST, though record.align does not
// name them. With an order for each, rows would get the labels of others. They
// are columnar files, arrays, records of one size, and lines.
//
// Two series (row_series.h) are companions if
// * their paths differ in one part, a directory or the name of the file, and
//   not in digits only, nor between directories in their extension;
// * not more than eight names of a format are alike so, because such are the
//   parts of one table;
// * they have the same number of files; and
// * one by one, in the order of their numbers, these may have as many rows.
//
// Arrow files do not say how many rows they have. Two of them are compared by
// their record batches. Beside any other file they may have as many as that
// has, unless they have more batches. The same holds for a file whose rows
// cannot be counted. Of lines beside a container the first may be a header.
// Containers of lines are not compared with files beside them.
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

// Adds a group for all series that might be companions of each other, with the
// files beside them that are no containers. Leaves out columnar files that
// `rules` name: the user says that their rows are their own. Other files have
// records only if rules name them.
void FindRowCompanions(const Dataset& dataset, const RecordRules& rules,
                       FoundContainers& found);

// Replaces the shapes of companions by the reason why they keep their order.
// `path_at` returns the path of a container index. Companions of one row group
// each are left alone, as nothing of them moves. REQUIRES: `found` has all
// members of `group`, which FindRowCompanions made, and all files beside them.
void LeaveCompanions(const ContainerGroup& group,
                     const std::function<std::string(size_t)>& path_at,
                     MemberShapes& found);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTAINERS_ROW_COMPANIONS_H_
