// SPDX-License-Identifier: Apache-2.0
// The state of a mountpoint, and what a killed daemon left there.
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
  kRefuses,  // it is another user's
};
// A live daemon answers in microseconds; on a machine under load it may be long
// until it is run.
inline constexpr std::chrono::milliseconds kPatience{1000};
// Asks what is mounted at `mountpoint`. A dead mount still answers stat and
// realpath from the kernel's caches; statvfs shows it, and waits for no
// catalogue.
MountState AskMount(const std::string& mountpoint,
                    std::chrono::milliseconds wait);

// Ends the connection of the shufflefs that is mounted topmost at `mountpoint`:
// who waits for its daemon gets an error. As root, or where fusectl is mounted
// as its user. Errors: PermissionDenied; NotFound.
absl::Status AbortMount(const std::string& mountpoint);

// Detaches what is mounted topmost at `mountpoint`, by fusermount3 where this
// process may not. Errors: what umount gives.
absl::Status DetachMount(const std::string& mountpoint);

// Detaches a mount at `mountpoint` that a killed daemon left behind; one that
// does not answer is aborted first where `daemon_is_dying()`. Call before
// anything else touches the mountpoint, or a source that is the same
// directory. Errors: FailedPrecondition: a shufflefs is mounted there and
// lives; what umount gives.
absl::Status ClearDeadMount(const std::string& mountpoint,
                            const std::function<bool()>& daemon_is_dying);

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_FUSE_MOUNT_POINT_H_
