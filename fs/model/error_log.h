// SPDX-License-Identifier: Apache-2.0
// ErrorLog writes one log line per failure. A reader's single read reaches the
// daemon as several requests, and each would log the same line.
#ifndef SHUFFLEFS_FS_MODEL_ERROR_LOG_H_
#define SHUFFLEFS_FS_MODEL_ERROR_LOG_H_

#include <chrono>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "core/base/mutex.h"

namespace shufflefs {

// Thread-safe. Bounded: at kMostLines lines it forgets all.
class ErrorLog {
 public:
  static constexpr std::chrono::seconds kQuiet{10};
  static constexpr size_t kMostLines = 1024;

  // Logs `line` as an error unless the same line was logged less than kQuiet
  // ago.
  void Say(const std::string& line);

 private:
  using Clock = std::chrono::steady_clock;
  Mutex mu_;
  absl::flat_hash_map<std::string, Clock::time_point> said_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_MODEL_ERROR_LOG_H_
