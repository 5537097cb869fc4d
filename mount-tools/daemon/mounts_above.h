// SPDX-License-Identifier: Apache-2.0
// File systems that are mounted over a part of ours: overlayfs, bindfs and the
// like. They remember names and sizes by themselves, and an epoch that changes
// below them tells them nothing.
#ifndef SHUFFLEFS_MOUNT_TOOLS_DAEMON_MOUNTS_ABOVE_H_
#define SHUFFLEFS_MOUNT_TOOLS_DAEMON_MOUNTS_ABOVE_H_

#include <string>
#include <vector>

#include "mount-tools/daemon/mount_table.h"

namespace shufflefs {

// Those of `mounts` that show what lies at or below `mountpoint` (absolute):
// by `lowerdir` of an overlay, or by the source of a FUSE mount. One that names
// it by a relative path is not found.
std::vector<MountEntry> MountsAbove(const std::vector<MountEntry>& mounts,
                                    const std::string& mountpoint);

// The same of this process' table, a warning each. None if it cannot be read.
std::vector<std::string> WarnOfMountsAbove(const std::string& mountpoint);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_DAEMON_MOUNTS_ABOVE_H_
