// SPDX-License-Identifier: Apache-2.0
// OwnMount finds the daemon's own mount, and keeps ways into it. A path leads
// there only until the mount is detached or covered, or a directory above it is
// renamed. Its readers keep their files open meanwhile.
#ifndef SHUFFLEFS_FS_BACKING_OWN_MOUNT_H_
#define SHUFFLEFS_FS_BACKING_OWN_MOUNT_H_

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"
#include "core/base/files/unique_fd.h"

namespace shufflefs {

// Thread-safe. Asks the daemon nothing, so any of its threads may call it.
class OwnMount {
 public:
  // Call it when the mount was just made, before others can cover it.
  explicit OwnMount(std::string mountpoint);

  // Opens the root of a copy of the mount. Nobody else sees the copy, and the
  // mount point is not busy by it. While the descriptor is open, the kernel
  // does not tell the daemon that the mount is gone. An open file of the mount
  // has the same effect. Needs CAP_SYS_ADMIN. Errors: NotFound if the path
  // leads to something else.
  absl::StatusOr<UniqueFd> Enter() const;

 private:
  const std::string mountpoint_;
  const dev_t device_;  // 0: not known
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_BACKING_OWN_MOUNT_H_
