// SPDX-License-Identifier: Apache-2.0
// Interrupt turns Ctrl-C and SIGTERM into a stop request, for long work that
// must end in good order.
#ifndef SHUFFLEFS_MOUNT_TOOLS_DAEMON_INTERRUPT_H_
#define SHUFFLEFS_MOUNT_TOOLS_DAEMON_INTERRUPT_H_

#include <signal.h>

#include <initializer_list>
#include <stop_token>
#include <thread>

#include "core/base/files/unique_fd.h"

namespace shufflefs {

// Those of the signals that our parent does not ignore. The others stay
// ignored, as nohup wants of SIGHUP: one that is blocked would arrive.
sigset_t NotIgnored(std::initializer_list<int> numbers);

// While it lives, SIGINT and SIGTERM request a stop instead of ending the
// process. Make it before the working threads, on the only thread that does not
// block these signals. A second signal ends the process.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  std::stop_token token() const { return asked_.get_token(); }
  bool asked() const { return asked_.stop_requested(); }

 private:
  // Takes a pending signal. Returns whether there was one.
  bool Comes() const;
  void Wait(const std::stop_token& stop);

  const sigset_t signals_;
  sigset_t before_;
  UniqueFd arrived_;  // readable when a signal has arrived
  UniqueFd over_;     // readable when no more signals are awaited
  std::stop_source asked_;
  std::jthread waiter_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_DAEMON_INTERRUPT_H_
