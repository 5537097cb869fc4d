// SPDX-License-Identifier: Apache-2.0
// TierPlans knows what the plans want that a tier follows. The copying thread
// asks them, or at once whoever changed a plan. TierPlans passes the answer to
// the readers' side, so that what readers bring next is kept.
#ifndef SHUFFLEFS_CORE_STAGING_STAGER_TIER_PLANS_H_
#define SHUFFLEFS_CORE_STAGING_STAGER_TIER_PLANS_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "core/staging/stager/staging_requests.h"
#include "core/staging/stager/tier_reads.h"
#include "core/staging/staging_plan.h"

namespace shufflefs {

bool SamePlan(const std::weak_ptr<StagingPlan>& a,
              const std::shared_ptr<StagingPlan>& b);

// Thread-safe. Ask waits for another thread that asks, but for no device.
class TierPlans {
 public:
  explicit TierPlans(std::shared_ptr<TierReads> reads)
      : reads_(std::move(reads)) {}

  // The last plan that still exists and wants something counts.
  void Follow(std::weak_ptr<StagingPlan> plan);

  struct Wanted {
    std::shared_ptr<StagingPlan> plan;  // null: nothing is wanted yet
    std::shared_ptr<const StagingRequests>
        requests;  // another object if it changed
  };
  // REQUIRES: the caller holds no lock of a plan.
  Wanted Ask();

 private:
  std::shared_ptr<StagingPlan> Current(std::vector<uint64_t>& sets)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::shared_ptr<TierReads> reads_;  // self-synchronised

  Mutex mu_;  // taken before the plans' own locks
  std::vector<std::weak_ptr<StagingPlan>> plans_ ABSL_GUARDED_BY(mu_);
  std::weak_ptr<StagingPlan> plan_ ABSL_GUARDED_BY(mu_);  // it gave requests_
  std::shared_ptr<const StagingRequests> requests_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_STAGER_TIER_PLANS_H_
