// SPDX-License-Identifier: Apache-2.0
// EndInTime ends the daemon after its mount is gone, even if a hanging source
// blocks some of its threads.
#ifndef SHUFFLEFS_MOUNT_TOOLS_DAEMON_END_IN_TIME_H_
#define SHUFFLEFS_MOUNT_TOOLS_DAEMON_END_IN_TIME_H_

#include <chrono>
#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "core/base/mutex.h"

namespace shufflefs {

class EndInTime {
 public:
  // What must be saved is saved before, unless the source or the state hangs.
  // `shufflectl umount` waits a little longer.
  static constexpr std::chrono::seconds kTime{4};

  ~EndInTime();
  // Call it before anything may hang. Later there may be no thread to start.
  // Error: ResourceExhausted.
  absl::Status Arm();
  // From now on the process has kTime. Unless this object is destroyed before,
  // it then calls `at_last`, logs one line, and ends the process with
  // `exit_status`. Call it once, after Arm.
  void Begin(int exit_status, std::function<void()> at_last);
  // Call it before what `at_last` uses is destroyed: it is not called any more.
  // If it is being called, this does not return.
  void ForgetLast();

 private:
  void Run(const std::stop_token& stop);

  Mutex mu_;
  CondVar changed_;
  bool begun_ ABSL_GUARDED_BY(mu_) = false;
  int exit_status_ ABSL_GUARDED_BY(mu_) = 0;
  std::function<void()> at_last_ ABSL_GUARDED_BY(mu_);

  std::jthread thread_;  // last: it uses the others
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_DAEMON_END_IN_TIME_H_
