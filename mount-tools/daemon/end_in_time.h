// SPDX-License-Identifier: Apache-2.0
// Ends the daemon after its mount is gone, also where a source that hangs keeps
// some of its threads.
#ifndef SHUFFLEFS_MOUNT_TOOLS_DAEMON_END_IN_TIME_H_
#define SHUFFLEFS_MOUNT_TOOLS_DAEMON_END_IN_TIME_H_

#include <chrono>
#include <functional>
#include <thread>

namespace shufflefs {

class EndInTime {
 public:
  // What is saved is saved long before. `shufflectl umount` waits a little
  // longer.
  static constexpr std::chrono::seconds kTime{4};

  // From now on the process has kTime. Unless this object goes before, one line
  // of the log says so then, `at_last` is called, and the process ends with
  // `exit_status`. Once.
  void Begin(int exit_status, std::function<void()> at_last);

 private:
  std::jthread thread_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_DAEMON_END_IN_TIME_H_
