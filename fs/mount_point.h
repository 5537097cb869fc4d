// SPDX-License-Identifier: Apache-2.0
// The state of a mountpoint before mounting.
#ifndef SHUFFLEFS_FS_MOUNT_POINT_H_
#define SHUFFLEFS_FS_MOUNT_POINT_H_

#include <string>

#include "absl/status/status.h"

namespace shufflefs {

// Detaches a mount at `mountpoint` that a killed daemon left behind. A dead
// mount still answers stat and realpath from the kernel's caches; only
// opening it as a directory shows it. Call before anything else touches the
// mountpoint, or a source that is the same directory. Errors:
// FailedPrecondition: a live shufflefs is mounted there; what umount gives.
absl::Status ClearDeadMount(const std::string& mountpoint);

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_MOUNT_POINT_H_
