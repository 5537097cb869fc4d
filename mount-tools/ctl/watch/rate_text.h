// SPDX-License-Identifier: Apache-2.0
// What a mount did between two reads of its status, as lines of a table. Pure
// functions.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_WATCH_RATE_TEXT_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_WATCH_RATE_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"

namespace shufflefs {

// The status of a mount at a time.
struct StatusSample {
  std::string json;    // the content of .shufflefs/status
  double seconds = 0;  // of a clock that never goes back
};

// The titles, one line.
std::string RateTitles();

// One line per view of `after`. `name` names the mount. A figure that cannot be
// known is "-": without `before`, if the epoch changed in between, or if the
// status lacks it. Errors: DataLoss if `after` has no status.
absl::StatusOr<std::string> RateLines(
    const std::string& name, const absl::optional<StatusSample>& before,
    const StatusSample& after);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_WATCH_RATE_TEXT_H_
