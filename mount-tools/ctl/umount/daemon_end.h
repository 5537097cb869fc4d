// SPDX-License-Identifier: Apache-2.0
// DaemonEnd waits for the end of a mount's daemon. Until then the source is in
// use, and the same mount cannot be made again.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_UMOUNT_DAEMON_END_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_UMOUNT_DAEMON_END_H_

#include <sys/types.h>

#include <chrono>
#include <string>

#include "core/base/files/unique_fd.h"

namespace shufflefs {

// The daemon that serves `mountpoint`, which is asked for at most `wait`. 0 if
// that cannot be determined, for example if it is another user's.
pid_t DaemonOf(const std::string& mountpoint, std::chrono::milliseconds wait);

// Not thread-safe.
class DaemonEnd {
 public:
  // For the daemon that serves `mountpoint`. Asks it, for at most `wait`, where
  // its state is. The process is found by the lock that it holds there. A
  // daemon in another pid namespace is known only by the lock.
  DaemonEnd(const std::string& mountpoint, std::chrono::milliseconds wait);

  // Returns whether it has ended by then. True if that cannot be determined.
  bool Await(std::chrono::steady_clock::time_point until);

 private:
  bool LockIsFree(std::chrono::milliseconds wait) const;

  std::string state_;  // "" if the daemon did not answer
  UniqueFd process_;   // of the daemon, if it is visible
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_UMOUNT_DAEMON_END_H_
