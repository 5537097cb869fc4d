// SPDX-License-Identifier: Apache-2.0
// The places that a command line names, before anything is mounted.
#ifndef SHUFFLEFS_MOUNT_TOOLS_DAEMON_MOUNT_PLACES_H_
#define SHUFFLEFS_MOUNT_TOOLS_DAEMON_MOUNT_PLACES_H_

#include <string>

namespace shufflefs {

// `path` (absolute) without links, as the kernel's table names a mount there.
// Looks up the directories above it, and asks no mount at `path` itself. Where
// something is missing, the rest of the path stays as it is.
std::string WithoutLinks(const std::string& path);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_DAEMON_MOUNT_PLACES_H_
