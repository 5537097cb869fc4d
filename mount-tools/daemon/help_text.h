// SPDX-License-Identifier: Apache-2.0
// The texts of `shufflefs --help`. No line has more than 80 columns.
#ifndef SHUFFLEFS_MOUNT_TOOLS_DAEMON_HELP_TEXT_H_
#define SHUFFLEFS_MOUNT_TOOLS_DAEMON_HELP_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace shufflefs {

// `topic` is "" (usage, the keys that most mounts need, policies), "all" (every
// key), a policy or the first part of dotted keys (these keys with the values
// that they take), or one key. Errors: InvalidArgument, with the nearest topic.
absl::StatusOr<std::string> HelpText(absl::string_view topic);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_DAEMON_HELP_TEXT_H_
