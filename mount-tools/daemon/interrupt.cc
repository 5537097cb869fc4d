// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/daemon/interrupt.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <array>

#include "core/base/thread.h"

namespace shufflefs {

sigset_t NotIgnored(std::initializer_list<int> numbers) {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : numbers) {
    struct sigaction now;
    if (sigaction(number, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) {
      sigaddset(&set, number);
    }
  }
  return set;
}

Interrupt::Interrupt() : signals_(NotIgnored({SIGINT, SIGTERM})) {
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  arrived_ = UniqueFd(signalfd(-1, &signals_, SFD_CLOEXEC | SFD_NONBLOCK));
  over_ = UniqueFd(eventfd(0, EFD_CLOEXEC));
  // A signal that came before, while they were blocked, counts too.
  if (Comes()) asked_.request_stop();
  waiter_ = StartThread("sfs-interrupt",
                        [this](const std::stop_token& stop) { Wait(stop); });
}

bool Interrupt::Comes() const {
  const timespec kAtOnce = {0, 0};
  return sigtimedwait(&signals_, nullptr, &kAtOnce) > 0;
}

void Interrupt::Wait(const std::stop_token& stop) {
  std::array<pollfd, 2> ready{
      {{arrived_.get(), POLLIN, 0}, {over_.get(), POLLIN, 0}}};
  // Without descriptors it polls now and then.
  const int most_ms = arrived_.valid() && over_.valid() ? -1 : 50;
  while (!stop.stop_requested()) {
    poll(ready.data(), ready.size(), most_ms);
    if (!Comes()) continue;
    // Work that waits for a device may take long to see the request.
    if (asked_.stop_requested()) _exit(1);
    asked_.request_stop();
  }
}

Interrupt::~Interrupt() {
  waiter_.request_stop();
  eventfd_write(over_.get(), 1);
  waiter_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace shufflefs
