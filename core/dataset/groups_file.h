// SPDX-License-Identifier: Apache-2.0
// The user's finer groups: `path TAB group` lines, one per file of the view.
// The path is relative to the view. The group is any bytes without tab and
// newline. Empty lines are skipped. A carriage return before the newline is
// dropped.
#ifndef SHUFFLEFS_CORE_DATASET_GROUPS_FILE_H_
#define SHUFFLEFS_CORE_DATASET_GROUPS_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/catalogue/catalogue.h"

namespace shufflefs {

struct GroupLabels {
  static constexpr uint32_t kNone = 0;  // for files that no line names
  std::vector<std::string> labels = {""};
  absl::flat_hash_map<EntryId, uint32_t> label_of;  // index in `labels`
  absl::flat_hash_map<EntryId, uint32_t> line_of;   // for messages
};

// `name` is that of the file, for messages. Errors: InvalidArgument, which
// names file and line: no tab, an empty group, a path that is no file of the
// view, a path with a second group.
absl::StatusOr<GroupLabels> ParseGroupsFile(const Catalogue& catalogue,
                                            DirId root, absl::string_view text,
                                            absl::string_view name);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_DATASET_GROUPS_FILE_H_
