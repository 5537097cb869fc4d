// SPDX-License-Identifier: Apache-2.0
// A named thread that is joined when its object goes.
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

// Names (at most 15 bytes) show in ps -L and gdb. The function receives a
// stop token; it must return soon after a stop is requested, which the
// destructor does before it joins. Signals go to other threads: the one that
// waits for them must be the one that is interrupted.
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

// The same, for who can do with fewer threads; nothing where the system gives
// no more of them. StartThread throws std::system_error then.
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
