// SPDX-License-Identifier: Apache-2.0
// Finds file systems that are mounted over a part of ours, such as overlayfs
// and bindfs. They cache names and sizes themselves, and an epoch switch below
// does not reach them.
#ifndef SHUFFLEFS_MOUNT_TOOLS_DAEMON_MOUNTS_ABOVE_H_
#define SHUFFLEFS_MOUNT_TOOLS_DAEMON_MOUNTS_ABOVE_H_

#include <string>
#include <vector>

#include "core/base/files/mount_table.h"

namespace shufflefs {

// Those of `mounts` that show something at or below `mountpoint` (absolute): by
// `lowerdir` of an overlay, or by the source of a FUSE mount. A mount that uses
// a relative path is not found.
std::vector<MountEntry> MountsAbove(const std::vector<MountEntry>& mounts,
                                    const std::string& mountpoint);

// The same from the table of this process, one warning each. None if it cannot
// be read.
std::vector<std::string> WarnOfMountsAbove(const std::string& mountpoint);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_DAEMON_MOUNTS_ABOVE_H_
