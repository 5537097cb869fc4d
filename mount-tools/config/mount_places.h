// SPDX-License-Identifier: Apache-2.0
// The places that a command line names, before anything is mounted.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CONFIG_MOUNT_PLACES_H_
#define SHUFFLEFS_MOUNT_TOOLS_CONFIG_MOUNT_PLACES_H_

#include <string>

#include "absl/status/status.h"
#include "core/config/config.h"

namespace shufflefs {

// `path` (absolute) without links, as the kernel's table names a mount there.
// Looks up the directories above it, and asks no mount at `path` itself. Where
// something is missing, the rest of the path stays as it is.
std::string WithoutLinks(const std::string& path);

// FailedPrecondition, which says what to do: the mount point is the root of the
// file system; the state or the tier lies in the source, which is never
// written.
absl::Status CheckPlaces(const MountConfig& config);

// Whether this user can mount there. Call it when no dead mount is in the way.
// Errors say what to do.
absl::Status CheckMountpoint(const std::string& mountpoint);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CONFIG_MOUNT_PLACES_H_
