// SPDX-License-Identifier: Apache-2.0
// Unmounts a FUSE mount, as root or as the user who mounted it, and says who
// is in the way.
#ifndef SHUFFLEFS_MOUNT_TOOLS_DAEMON_UNMOUNT_H_
#define SHUFFLEFS_MOUNT_TOOLS_DAEMON_UNMOUNT_H_

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace shufflefs {

struct UnmountOptions {
  // Detach at once; the mount goes when its last user does. What a dead mount
  // needs, for its files cannot be closed in order.
  bool lazy = false;
  // How long to try again while the mount is busy.
  std::chrono::milliseconds wait{0};
};

// Unmounts what lies topmost at `mountpoint`: umount2 for root, fusermount3
// (or fusermount) for others. Blocks up to options.wait. Errors: Unavailable
// "…: busy" that names up to three processes that use it; else the errno or
// what fusermount3 said.
absl::Status Unmount(const std::string& mountpoint,
                     const UnmountOptions& options);

// Processes with an open file, a mapping's file or a working directory below
// `mountpoint`, as "1234 (python3)"; only those that the caller may look
// into, and not the caller. Reads /proc and asks no daemon.
std::vector<std::string> ProcessesIn(const std::string& mountpoint);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_DAEMON_UNMOUNT_H_
