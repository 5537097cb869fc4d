// SPDX-License-Identifier: Apache-2.0
// ContainerGroup is containers with one order of their records: aligned ones,
// whose records correspond one by one (record.align), or families, whose
// records are mixed (record.scope).
#ifndef SHUFFLEFS_CORE_RECORDS_CONTAINERS_CONTAINER_GROUP_H_
#define SHUFFLEFS_CORE_RECORDS_CONTAINERS_CONTAINER_GROUP_H_

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/types.h"
#include "core/catalogue/catalogue.h"
#include "core/config/record_options.h"
#include "core/records/order/shuffled_file.h"

namespace shufflefs {

struct ContainerGroup {
  bool is_family = false;
  std::string why_not;          // "" if names allow the group
  std::vector<size_t> members;  // indices of containers
};

// The result for each member, by its index.
using MemberShapes = std::map<size_t, absl::StatusOr<ContainerShape>>;

// Gives the whole group one order, or the reason why there is none. With
// record.scope = view there may be several orders, by the files' headers, and a
// file that cannot be mixed keeps its own. `file_at` returns the file of a
// container index. Frees the names in the shapes. Returns a line for `status`
// if files of a view are not mixed because of their names, else "". REQUIRES:
// `found` has all members.
std::string JoinGroup(const ContainerGroup& group, RecordScope scope,
                      const Catalogue& catalogue,
                      const std::function<EntryId(size_t)>& file_at,
                      MemberShapes& found);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTAINERS_CONTAINER_GROUP_H_
