// SPDX-License-Identifier: Apache-2.0
// EndInTime ends the daemon after its mount is gone, even if a hanging source
// blocks some of its threads.
#ifndef SHUFFLEFS_MOUNT_TOOLS_DAEMON_END_IN_TIME_H_
#define SHUFFLEFS_MOUNT_TOOLS_DAEMON_END_IN_TIME_H_

#include <chrono>
#include <functional>
#include <thread>

namespace shufflefs {

class EndInTime {
 public:
  // Everything to save is saved long before. `shufflectl umount` waits a little
  // longer.
  static constexpr std::chrono::seconds kTime{4};

  // From now on the process has kTime. Unless this object is destroyed before,
  // it then logs one line, calls `at_last`, and ends the process with
  // `exit_status`. Call it once.
  void Begin(int exit_status, std::function<void()> at_last);

 private:
  std::jthread thread_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_DAEMON_END_IN_TIME_H_
