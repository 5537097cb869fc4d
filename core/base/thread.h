// SPDX-License-Identifier: Apache-2.0
// Starts a named thread that is joined when its object is destroyed.
#ifndef SHUFFLEFS_CORE_BASE_THREAD_H_
#define SHUFFLEFS_CORE_BASE_THREAD_H_

#include <pthread.h>
#include <signal.h>

#include <functional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/types/optional.h"

namespace shufflefs {

// The name (at most 15 bytes) shows in ps -L and gdb. The function receives a
// stop token and must return soon after a stop is requested. The destructor
// requests a stop before it joins. The thread blocks all signals, because a
// signal must interrupt the thread that waits for it.
inline std::jthread StartThread(std::string name,
                                std::function<void(std::stop_token)> run) {
  return std::jthread(
      [name = std::move(name), run = std::move(run)](std::stop_token stop) {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, nullptr);
        pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
        run(stop);
      });
}

// The same, for callers that can do with fewer threads. Returns nothing if the
// system gives no more threads; StartThread then throws std::system_error.
inline absl::optional<std::jthread> TryStartThread(
    std::string name, std::function<void(std::stop_token)> run) {
  try {
    return StartThread(std::move(name), std::move(run));
  } catch (const std::system_error&) {
    return absl::nullopt;
  }
}

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_THREAD_H_
