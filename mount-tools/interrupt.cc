// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/interrupt.h"

#include <time.h>
#include <unistd.h>

#include "core/thread.h"

namespace shufflefs {

Interrupt::Interrupt() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  // One that came before, while they were blocked, counts too.
  const timespec kAtOnce = {0, 0};
  if (sigtimedwait(&signals_, nullptr, &kAtOnce) > 0) asked_.request_stop();
  waiter_ = StartThread("sfs-interrupt", [this](std::stop_token stop) {
    const timespec kLook = {0, 50 * 1000 * 1000};
    while (!stop.stop_requested()) {
      if (sigtimedwait(&signals_, nullptr, &kLook) < 0) continue;
      // Work that waits for a device may take long to see it.
      if (asked_.stop_requested()) _exit(1);
      asked_.request_stop();
    }
  });
}

Interrupt::~Interrupt() {
  waiter_.request_stop();
  waiter_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace shufflefs
