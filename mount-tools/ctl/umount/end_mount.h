// SPDX-License-Identifier: Apache-2.0
// Ends a mount as `shufflectl umount` does.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_UMOUNT_END_MOUNT_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_UMOUNT_END_MOUNT_H_

#include <chrono>
#include <string>

#include "absl/status/status.h"

namespace shufflefs {

struct EndMountOptions {
  bool lazy = false;  // detach now, even if files are open there
  // How long to try while the mount is busy, and then to wait for its daemon.
  std::chrono::milliseconds wait{5000};
};

// Unmounts the topmost mount at `mountpoint`, also one whose daemon is gone,
// and waits until the daemon has ended. Changes the working directory to "/",
// which must not keep the mount busy. Errors: Unavailable, which names the
// processes that use it; DeadlineExceeded: unmounted, but the daemon has not
// ended; those of Unmount and AbortMount.
absl::Status EndMount(const std::string& mountpoint,
                      const EndMountOptions& options);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_UMOUNT_END_MOUNT_H_
