// SPDX-License-Identifier: Apache-2.0
// Waits for the end of a mount's daemon: until then the source is in use, and
// the same mount cannot be made again.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_DAEMON_END_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_DAEMON_END_H_

#include <chrono>
#include <string>

#include "core/base/files/unique_fd.h"

namespace shufflefs {

// Not thread-safe.
class DaemonEnd {
 public:
  // Of the daemon that serves `mountpoint`; asks it, for `wait` at most, where
  // its state is. The process is found by the lock that it holds there. One in
  // another pid namespace is known by the lock alone.
  DaemonEnd(const std::string& mountpoint, std::chrono::milliseconds wait);

  // Whether it has ended by then. True where it cannot be known.
  bool Await(std::chrono::steady_clock::time_point until);

 private:
  bool LockIsFree() const;

  std::string state_;  // "" if it did not tell
  UniqueFd process_;   // of the daemon, where it can be seen
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_DAEMON_END_H_
