// SPDX-License-Identifier: Apache-2.0
// shufflectl epoch, policy and feedback: writes to a mount's control file.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_CONTROL_COMMANDS_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_CONTROL_COMMANDS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "mount-tools/ctl/command.h"

namespace shufflefs {

std::unique_ptr<Command> MakeEpochCommand();
std::unique_ptr<Command> MakePolicyCommand();
std::unique_ptr<Command> MakeFeedbackCommand();

// The words after these commands: [MOUNTPOINT] [value] [key=value…].
struct ControlWords {
  std::string mountpoint;  // "" = none given
  std::string value;       // "" = show, write nothing
  std::vector<std::string> settings;
};

// Of two words without `=`, the first is the mount point. A single word is the
// mount point if it has a slash or if `is_mount` says so. InvalidArgument for
// more words.
absl::StatusOr<ControlWords> SplitControlWords(
    const std::vector<std::string>& words,
    const std::function<bool(const std::string&)>& is_mount);

// The control text that `shufflectl epoch WHAT` writes. InvalidArgument if WHAT
// is neither "next" nor a number.
absl::StatusOr<std::string> EpochControlText(const std::string& what);

// The control text that `shufflectl feedback LOSS` writes. InvalidArgument if
// it is no finite number.
absl::StatusOr<std::string> FeedbackControlText(const std::string& loss);

// The control text that `shufflectl policy NAME key=value…` writes. If `name`
// is "", the policy stays. The daemon checks it; here only words without `=`
// are refused.
absl::StatusOr<std::string> PolicyControlText(
    const std::string& name, const std::vector<std::string>& settings);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_CONTROL_COMMANDS_H_
