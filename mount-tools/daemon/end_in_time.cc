// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/daemon/end_in_time.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/interruptible_sleep.h"
#include "core/base/log.h"
#include "core/base/thread.h"

namespace shufflefs {

void EndInTime::Begin(int exit_status, std::function<void()> at_last) {
  auto end = [exit_status, last = std::move(at_last)](std::stop_token stop) {
    if (!WaitUnlessStopped(stop, kTime)) return;
    Log(LogLevel::kWarning,
        absl::StrCat("after ", kTime.count(),
                     " s something still waits for the source: left as it is"));
    last();
    _exit(exit_status);
  };
  // Without a thread the process ends when the source answers.
  if (auto started = TryStartThread("sfs-end", std::move(end))) {
    thread_ = *std::move(started);
  }
}

}  // namespace shufflefs
