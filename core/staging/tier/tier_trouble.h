// SPDX-License-Identifier: Apache-2.0
// What is wrong with the performance tier now: one line of the log when it
// begins and one when it is over, however many reads and writes fail between.
#ifndef SHUFFLEFS_CORE_STAGING_TIER_TIER_TROUBLE_H_
#define SHUFFLEFS_CORE_STAGING_TIER_TIER_TROUBLE_H_

#include <atomic>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "core/base/mutex.h"

namespace shufflefs {

// Thread-safe.
class TierTrouble {
 public:
  // `path` is tier.path.
  explicit TierTrouble(std::string path) : path_(std::move(path)) {}

  // `what` says what happens instead.
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

#endif  // SHUFFLEFS_CORE_STAGING_TIER_TIER_TROUBLE_H_
