// SPDX-License-Identifier: Apache-2.0
// What was set through the control file of a mount, kept for a daemon that
// is killed: the same command goes on with it. After a clean
// end, and under another command line, the command line rules again.
#ifndef SHUFFLEFS_MOUNT_TOOLS_DAEMON_CONTROL_MEMORY_H_
#define SHUFFLEFS_MOUNT_TOOLS_DAEMON_CONTROL_MEMORY_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/base/files/owned_dir.h"
#include "core/config/config.h"
#include "fs/control/control_files.h"

namespace shufflefs {

// Not thread-safe: calls come one at a time. Keeps a small file while keys
// differ from the command line's.
class ControlMemory {
 public:
  // Takes up what the file holds, if it was written under the same
  // command line; else removes it. Either is one line in the log. A file that
  // cannot be read or understood is removed likewise.
  static ControlMemory Open(FilePlace place, MountConfig command_line);

  // The command line's, with what was set through the control file.
  const MountConfig& config() const { return config_; }
  // For each view of the configuration, where it was to switch at the next
  // boundary: what it ran until then. One a view.
  const std::vector<absl::optional<ViewConfig>>& running() const {
    return running_;
  }

  // Call when control was written: `views` are all views, in order. Blocks
  // until the file is safe on the device; does nothing when it holds that
  // already. A failure is one line in the log.
  void Keep(const std::vector<ViewKeys>& views);
  // Call at a clean end.
  void Forget();

 private:
  ControlMemory(FilePlace place, MountConfig command_line);
  absl::Status Take(absl::string_view text);
  void Remove();

  FilePlace place_;
  MountConfig command_line_;
  MountConfig config_;
  std::vector<absl::optional<ViewConfig>> running_;
  std::string kept_;  // the file's text, "" where there is none
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_DAEMON_CONTROL_MEMORY_H_
