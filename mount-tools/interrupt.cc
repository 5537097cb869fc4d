// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/interrupt.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <array>

#include "core/thread.h"

namespace shufflefs {

Interrupt::Interrupt() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  arrived_ = UniqueFd(signalfd(-1, &signals_, SFD_CLOEXEC | SFD_NONBLOCK));
  over_ = UniqueFd(eventfd(0, EFD_CLOEXEC));
  // One that came before, while they were blocked, counts too.
  const timespec kAtOnce = {0, 0};
  if (sigtimedwait(&signals_, nullptr, &kAtOnce) > 0) asked_.request_stop();
  waiter_ = StartThread("sfs-interrupt", [this](std::stop_token) { Wait(); });
}

void Interrupt::Wait() {
  std::array<pollfd, 2> ready{
      {{arrived_.get(), POLLIN, 0}, {over_.get(), POLLIN, 0}}};
  for (;;) {
    if (poll(ready.data(), ready.size(), -1) < 0) continue;
    if (ready[1].revents != 0) return;
    signalfd_siginfo signal;
    if (read(arrived_.get(), &signal, sizeof signal) != sizeof signal) continue;
    // Work that waits for a device may take long to see it.
    if (asked_.stop_requested()) _exit(1);
    asked_.request_stop();
  }
}

Interrupt::~Interrupt() {
  eventfd_write(over_.get(), 1);
  waiter_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace shufflefs
