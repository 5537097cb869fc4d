// SPDX-License-Identifier: Apache-2.0
// The status of a mount as people read it. Pure functions.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_STATUS_TEXT_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_STATUS_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace shufflefs {

// `json` is the content of .shufflefs/status. One line a view, and below it
// what the daemon says about its choice and its warnings. A figure that is
// null or missing is left out. Errors: DataLoss when it is not such a text.
absl::StatusOr<std::string> StatusText(absl::string_view json);

// One line such as "epoch 3, running": where a view stands, for answers to a
// control write. `view` "" is the first. Errors: as above, and NotFound when
// there is no such view.
absl::StatusOr<std::string> EpochText(absl::string_view json,
                                      absl::string_view view);

// {"view":…,"policy":…,"seed":…,"epoch":…,"epoch_state":…} of one view.
absl::StatusOr<std::string> EpochJson(absl::string_view json,
                                      absl::string_view view);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_STATUS_TEXT_H_
