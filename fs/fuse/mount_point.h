// SPDX-License-Identifier: Apache-2.0
// The state of a mount point, and what a killed daemon left there.
#ifndef SHUFFLEFS_FS_FUSE_MOUNT_POINT_H_
#define SHUFFLEFS_FS_FUSE_MOUNT_POINT_H_

#include <chrono>
#include <functional>
#include <string>

#include "absl/status/status.h"

namespace shufflefs {

enum class MountState {
  kAnswers,  // or no daemon is asked
  kDead,     // its daemon has ended
  kSilent,   // no answer within the time
  kRefuses,  // it belongs to another user
};
// A live daemon answers in microseconds, but on a loaded machine it may not be
// scheduled for long.
inline constexpr std::chrono::milliseconds kPatience{1000};
// Asks what is mounted at `mountpoint`. A dead mount still answers stat and
// realpath from the kernel's caches. statvfs detects it, and does not wait for
// a catalogue.
MountState AskMount(const std::string& mountpoint,
                    std::chrono::milliseconds wait);

// Names the topmost shufflefs mount at `mountpoint` as no other mount is named,
// not even later. Asks no daemon. "" if there is none. Kernels before 6.8 reuse
// the numbers of mounts, so there the source belongs to the name.
std::string MountName(const std::string& mountpoint);

// Ends the connection of the topmost shufflefs mount at `mountpoint`: requests
// that wait for its daemon get an error. Works for root, and for the mounting
// user if fusectl is mounted. Errors: PermissionDenied; NotFound.
absl::Status AbortMount(const std::string& mountpoint);

// Detaches the topmost mount at `mountpoint`, by fusermount3 if this process
// may not. Errors: those of umount.
absl::Status DetachMount(const std::string& mountpoint);

// Detaches a mount at `mountpoint` that a killed daemon left. A mount that does
// not answer is aborted first if `daemon_is_dying()` of its MountName. Null says
// that it is not. Call it before anything else touches the mount point, or a
// source that is the same directory. Errors: FailedPrecondition: a live shufflefs is mounted there;
// those of umount.
absl::Status ClearDeadMount(
    const std::string& mountpoint,
    const std::function<bool(const std::string&)>& daemon_is_dying);

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_FUSE_MOUNT_POINT_H_
