// SPDX-License-Identifier: Apache-2.0
// The command line of shufflefs. mount(8) also passes it for `mount -t
// fuse.shufflefs` and fstab.
#ifndef SHUFFLEFS_MOUNT_TOOLS_DAEMON_COMMAND_LINE_H_
#define SHUFFLEFS_MOUNT_TOOLS_DAEMON_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/config/config.h"
#include "mount-tools/daemon/daemon.h"

namespace shufflefs {

struct CommandLine {
  enum class Action { kMount, kHelp, kVersion };
  Action action = Action::kMount;
  std::string help_topic;  // for kHelp, as HelpText takes it
  // Set for kMount: defaults, then the TOML file, then -o; the last value wins.
  // Source and mount point are made absolute by their names only.
  MountConfig config;
  RunOptions run;
};

// `arguments` lacks the program's name. `cwd` is absolute; relative paths are
// below it. Reads the file that --config or -o config= names. Errors, one line
// without "shufflefs: ": InvalidArgument for wrong usage, else the errno of
// reading the configuration file.
absl::StatusOr<CommandLine> ParseCommandLine(
    const std::vector<std::string>& arguments, absl::string_view cwd);

// The words of a -o argument, split at commas. `\,` and `\\` denote a comma and
// a backslash. Empty words are left out.
std::vector<std::string> SplitMountOptions(absl::string_view text);

// The text of --version.
std::string VersionText();

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_DAEMON_COMMAND_LINE_H_
