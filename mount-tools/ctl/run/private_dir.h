// SPDX-License-Identifier: Apache-2.0
// A new directory that nobody else can reach into, for the mount of one
// command.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_RUN_PRIVATE_DIR_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_RUN_PRIVATE_DIR_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace shufflefs {

// Where a user has a place, the best first: $XDG_RUNTIME_DIR, $TMPDIR, /tmp.
// Only absolute paths.
std::vector<std::string> PrivatePlaces();

class PrivateDir {
 public:
  // Makes shufflefs-XXXXXX (0700, a name that nobody can predict) below the
  // first of `places` where that is possible, and in it the directories mnt and
  // state. A place where another user could replace it is passed over
  // (core/base/files/owned_dir.h). Errors: those of the last place.
  static absl::StatusOr<PrivateDir> Make(
      const std::vector<std::string>& places);

  std::string mountpoint() const { return path_ + "/mnt"; }
  std::string state() const { return path_ + "/state"; }
  const std::string& path() const { return path_; }

  // Removes the directories, and what is in `state`. Never enters a mount.
  // Errors: EBUSY if something is mounted at mountpoint().
  absl::Status Remove() const;

 private:
  explicit PrivateDir(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_RUN_PRIVATE_DIR_H_
