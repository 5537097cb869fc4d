// SPDX-License-Identifier: Apache-2.0
// What is odd about the places of a mount, and easily overlooked.
#ifndef SHUFFLEFS_MOUNT_TOOLS_DAEMON_PLACE_WARNINGS_H_
#define SHUFFLEFS_MOUNT_TOOLS_DAEMON_PLACE_WARNINGS_H_

#include <string>
#include <vector>

#include "core/base/files/mount_table.h"
#include "core/config/config.h"

namespace shufflefs {

// `mounts` are those before the mount. Reads the mount point's directory,
// unless a mount is there already.
std::vector<std::string> PlaceWarnings(const MountConfig& config,
                                       const std::vector<MountEntry>& mounts);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_DAEMON_PLACE_WARNINGS_H_
