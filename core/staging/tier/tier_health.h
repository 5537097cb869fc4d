// SPDX-License-Identifier: Apache-2.0
// TierHealth is the present fault of the performance tier. It writes one line
// to the log when the fault begins and one when it ends, no matter how many
// reads and writes fail in between.
#ifndef SHUFFLEFS_CORE_STAGING_TIER_TIER_HEALTH_H_
#define SHUFFLEFS_CORE_STAGING_TIER_TIER_HEALTH_H_

#include <atomic>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "core/base/mutex.h"

namespace shufflefs {

// Thread-safe.
class TierHealth {
 public:
  // `path` is tier.path.
  explicit TierHealth(std::string path) : path_(std::move(path)) {}

  // `what` says what shufflefs does instead.
  void Begin(const absl::Status& status, absl::string_view what);
  void End();
  bool any() const { return any_.load(std::memory_order_relaxed); }
  std::string text() const;  // "" if there is none

 private:
  // Constant after construction.
  const std::string path_;
  // Self-synchronised.
  std::atomic<bool> any_{false};

  mutable Mutex mu_;
  std::string text_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_TIER_TIER_HEALTH_H_
