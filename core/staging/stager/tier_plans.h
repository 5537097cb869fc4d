// SPDX-License-Identifier: Apache-2.0
// What the plans want that a tier follows, as it is asked by the thread that
// copies, or at once by whoever changed it: readers are told, so that what they
// bring next is kept.
#ifndef SHUFFLEFS_CORE_STAGING_STAGER_TIER_PLANS_H_
#define SHUFFLEFS_CORE_STAGING_STAGER_TIER_PLANS_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "core/staging/stager/tier_reads.h"
#include "core/staging/stager/tier_wishes.h"
#include "core/staging/staging_plan.h"

namespace shufflefs {

bool SamePlan(const std::weak_ptr<StagingPlan>& a,
              const std::shared_ptr<StagingPlan>& b);

// Thread-safe. Asking waits for another thread that asks, and for no device.
class TierPlans {
 public:
  explicit TierPlans(std::shared_ptr<TierReads> reads)
      : reads_(std::move(reads)) {}

  // The last one that is still there and wants something counts.
  void Follow(std::weak_ptr<StagingPlan> plan);

  struct Wanted {
    std::shared_ptr<StagingPlan> plan;         // null: nothing is wanted yet
    std::shared_ptr<const TierWishes> wishes;  // another one if it changed
  };
  // REQUIRES: the caller holds no lock of a plan's.
  Wanted Ask();

 private:
  std::shared_ptr<StagingPlan> Current(std::vector<uint64_t>& sets)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::shared_ptr<TierReads> reads_;  // self-synchronised

  Mutex mu_;  // taken before the plans' own
  std::vector<std::weak_ptr<StagingPlan>> plans_ ABSL_GUARDED_BY(mu_);
  std::weak_ptr<StagingPlan> plan_ ABSL_GUARDED_BY(mu_);  // who said wishes_
  std::shared_ptr<const TierWishes> wishes_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_STAGER_TIER_PLANS_H_
