// SPDX-License-Identifier: Apache-2.0
// A wait that a stop request interrupts.
#ifndef SHUFFLEFS_CORE_BASE_INTERRUPTIBLE_SLEEP_H_
#define SHUFFLEFS_CORE_BASE_INTERRUPTIBLE_SLEEP_H_

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace shufflefs {

// Blocks for `time` and returns true. Returns false at once when a stop is
// requested.
inline bool WaitUnlessStopped(std::stop_token stop,
                              std::chrono::milliseconds time) {
  std::mutex mu;
  std::condition_variable_any stopped;
  std::unique_lock<std::mutex> lock(mu);
  stopped.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_INTERRUPTIBLE_SLEEP_H_
