// SPDX-License-Identifier: Apache-2.0
// Unmounts a FUSE mount, as root or as the user who mounted it, and reports
// which processes prevent it.
#ifndef SHUFFLEFS_MOUNT_TOOLS_DAEMON_UNMOUNT_H_
#define SHUFFLEFS_MOUNT_TOOLS_DAEMON_UNMOUNT_H_

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace shufflefs {

struct UnmountOptions {
  // Detach at once; the mount disappears with its last user. A dead mount needs
  // this, because its files cannot be closed in order.
  bool lazy = false;
  // How long to retry while the mount is busy.
  std::chrono::milliseconds wait{0};
};

// Unmounts the topmost mount at `mountpoint`: by umount2 for root, by
// fusermount3 (or fusermount) for others. Blocks up to options.wait. Errors:
// Unavailable "…: busy", which names up to three processes that use it; else
// the errno or the message of fusermount3.
absl::Status Unmount(const std::string& mountpoint,
                     const UnmountOptions& options);

// Processes with an open file, a mapped file or a working directory below
// `mountpoint`, as "1234 (python3)". Lists only processes that the caller may
// inspect, and not the caller. Reads /proc and asks no daemon.
std::vector<std::string> ProcessesIn(const std::string& mountpoint);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_DAEMON_UNMOUNT_H_
