// SPDX-License-Identifier: Apache-2.0
// ContainerGroup is containers that are settled together: aligned ones, whose
// records correspond one by one (record.align); families, whose records are
// mixed (record.scope); or files whose rows may correspond (row_companions.h).
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
#include "core/formats/record_format.h"
#include "core/records/order/shuffled_file.h"

namespace shufflefs {

struct ContainerGroup {
  enum class Kind { kAligned, kFamily, kAlike };

  struct Series {
    const RecordFormat* format = nullptr;
    std::vector<size_t> files;  // numbers of FoundContainers, in their order
    bool is_beside = false;     // these are no containers
  };
  // A series of kAlike, and the part of its path in which it differs from those
  // that it is alike to, without numbers.
  struct Alike {
    size_t series = 0;
    std::string part;
  };

  Kind kind = Kind::kAligned;
  std::string why_not;          // "" if names allow the group
  std::vector<size_t> members;  // indices of containers
  // Of kAlike: files that are no containers, by their numbers in
  // FoundContainers, and the format that their rows are counted by.
  std::map<size_t, const RecordFormat*> beside;
  // Of kAlike: by its number, and which might be companions.
  std::map<size_t, Series> series;
  std::vector<std::vector<Alike>> alike;
};

// The result for each member and each file beside them, by its index.
using MemberShapes = std::map<size_t, absl::StatusOr<ContainerShape>>;

// Gives the whole group one order, or the reason why there is none. With
// record.scope = view there may be several orders, by the files' headers, and a
// file that cannot be mixed keeps its own. `file_at` returns the file of a
// container index. Frees the names in the shapes. Returns a line for `status`
// if files of a view are not mixed because of their names, else "". REQUIRES:
// `found` has all members, and all files beside them.
std::string JoinGroup(const ContainerGroup& group, RecordScope scope,
                      const Catalogue& catalogue,
                      const std::function<EntryId(size_t)>& file_at,
                      MemberShapes& found);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTAINERS_CONTAINER_GROUP_H_
