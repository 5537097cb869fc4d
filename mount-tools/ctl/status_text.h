// SPDX-License-Identifier: Apache-2.0
// The status of a mount as people read it. Pure functions.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_STATUS_TEXT_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_STATUS_TEXT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace shufflefs {

// `json` is the content of .shufflefs/status. One line a view, and below it
// what the daemon says about its choice and its warnings. A figure that is
// null or missing is left out. Errors: DataLoss when it is not such a text.
absl::StatusOr<std::string> StatusText(absl::string_view json);

struct StatusNames {
  std::string source;
  std::vector<std::string> views;
};
// Errors: as above.
absl::StatusOr<StatusNames> NamesInStatus(absl::string_view json);

// Where a view stands, "train  lirs  epoch 3, 62 %", for answers to a control
// write; a line for every view if `view` is "". Errors: as above, and NotFound
// when there is no such view.
absl::StatusOr<std::string> EpochText(absl::string_view json,
                                      absl::string_view view);

// The same as one object a line: {"view":…,"policy":…,"next_policy":…,
// "seed":…,"epoch":…,"epoch_state":…}.
absl::StatusOr<std::string> EpochJson(absl::string_view json,
                                      absl::string_view view);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_STATUS_TEXT_H_
