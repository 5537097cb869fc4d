// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/daemon/end_in_time.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/interruptible_sleep.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/base/thread.h"

namespace shufflefs {

EndInTime::~EndInTime() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  {
    MutexLock lock(mu_);
    changed_.SignalAll();
  }
  thread_.join();
}

absl::Status EndInTime::Arm() {
  auto thread =
      TryStartThread("sfs-end", [this](std::stop_token stop) { Run(stop); });
  if (!thread) return ErrnoStatus(EAGAIN, "starting a thread");
  thread_ = *std::move(thread);
  return absl::OkStatus();
}

void EndInTime::Begin(int exit_status, std::function<void()> at_last) {
  MutexLock lock(mu_);
  begun_ = true;
  exit_status_ = exit_status;
  at_last_ = std::move(at_last);
  changed_.SignalAll();
}

void EndInTime::ForgetLast() {
  MutexLock lock(mu_);
  at_last_ = nullptr;
}

void EndInTime::Run(const std::stop_token& stop) {
  {
    MutexLock lock(mu_);
    while (!begun_ && !stop.stop_requested()) changed_.Wait(mu_);
  }
  if (!WaitUnlessStopped(stop, kTime)) return;
  // Who calls ForgetLast now waits for the end of the process.
  MutexLock lock(mu_);
  if (at_last_) at_last_();
  Log(LogLevel::kWarning,
      absl::StrCat("after ", kTime.count(),
                   " s the daemon is not done with its end, which may wait for "
                   "the source: left as it is"));
  _exit(exit_status_);
}

}  // namespace shufflefs
