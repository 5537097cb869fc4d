// SPDX-License-Identifier: Apache-2.0
// The clock of core's views: milliseconds that never run backwards.
#ifndef SHUFFLEFS_FS_MODEL_MONOTONIC_NOW_H_
#define SHUFFLEFS_FS_MODEL_MONOTONIC_NOW_H_

#include <chrono>

namespace shufflefs {

inline std::chrono::milliseconds MonotonicNow() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_MODEL_MONOTONIC_NOW_H_
