// SPDX-License-Identifier: Apache-2.0
// The status of a mount as text for people. Pure functions.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_STATUS_TEXT_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_STATUS_TEXT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace shufflefs {

// `json` is the content of .shufflefs/status. One line per view, followed by
// the daemon's reasons for its choice and its warnings. A figure that is null
// or missing is left out. Errors: DataLoss if it is not such a text.
absl::StatusOr<std::string> StatusText(absl::string_view json);

// The status of one of several mounts, on one line: `json` behind "mountpoint".
// If it is not such a text: {"mountpoint":…,"error":why}.
std::string StatusJsonLine(const std::string& mountpoint,
                           absl::string_view json, const std::string& why);

// What the ledger lacks of a view, as its daemon warns. "" if nothing. Errors:
// as above.
absl::StatusOr<std::string> LedgerWarning(absl::string_view json,
                                          absl::string_view view);

// Returns whether the view is known, but not its files yet. Errors: as above.
absl::StatusOr<bool> IsIndexing(absl::string_view json, absl::string_view view);

// The state of a view, "train  lirs  epoch 3, 62 %", for answers to a control
// write. One line per view if `view` is "". Errors: as above, and NotFound if
// there is no such view.
absl::StatusOr<std::string> EpochText(absl::string_view json,
                                      absl::string_view view);

// The same, and below each view the warnings that it had not `before` the
// write.
absl::StatusOr<std::string> AfterWriteText(absl::string_view before,
                                           absl::string_view after,
                                           absl::string_view view);

// EpochText as one object per line: {"view":…,"policy":…,"next_policy":…,
// "seed":…,"epoch":…,"epoch_state":…}.
absl::StatusOr<std::string> EpochJson(absl::string_view json,
                                      absl::string_view view);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_STATUS_TEXT_H_
