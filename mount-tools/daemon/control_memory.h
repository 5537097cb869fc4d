// SPDX-License-Identifier: Apache-2.0
// ControlMemory keeps what was set through the control file of a mount, in case
// the daemon is killed: the same command then continues with it. After a clean
// end, or with another command line, the command line decides again.
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

// Not thread-safe: calls are serialised. Keeps a small file while keys differ
// from the command line's.
class ControlMemory {
 public:
  // Takes over the content of the file if it was written under the same command
  // line, else removes it. Each case logs one line. A file that cannot be read
  // or understood is removed likewise.
  static ControlMemory Open(FilePlace place, MountConfig command_line);

  // The command line's configuration with what was set through the control
  // file.
  const MountConfig& config() const { return config_; }
  const MountConfig& command_line() const { return command_line_; }
  // One per view: if the view was to switch at the next boundary, what it ran
  // until then.
  const std::vector<absl::optional<ViewConfig>>& running() const {
    return running_;
  }

  // Call it when control was written. `views` are all views, in order. Blocks
  // until the file is safe on the device. Does nothing if the file has that
  // content already. A failure logs one line.
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
  std::string kept_;  // text of the file, "" if there is none
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_DAEMON_CONTROL_MEMORY_H_
