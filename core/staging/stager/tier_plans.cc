// SPDX-License-Identifier: Apache-2.0
#include "core/staging/stager/tier_plans.h"

namespace shufflefs {

bool SamePlan(const std::weak_ptr<StagingPlan>& a,
              const std::shared_ptr<StagingPlan>& b) {
  return !a.owner_before(b) && !b.owner_before(a);
}

void TierPlans::Follow(std::weak_ptr<StagingPlan> plan) {
  MutexLock lock(mu_);
  std::erase_if(plans_, [](const auto& old) { return old.expired(); });
  plans_.push_back(std::move(plan));
}

std::shared_ptr<StagingPlan> TierPlans::Current(std::vector<uint64_t>& sets) {
  for (size_t i = plans_.size(); i > 0; --i) {
    std::shared_ptr<StagingPlan> plan = plans_[i - 1].lock();
    if (plan == nullptr) continue;
    sets = plan->WantedSets();
    if (!sets.empty()) return plan;
  }
  return nullptr;
}

TierPlans::Wanted TierPlans::Ask() {
  // Destroyed after the lock is released: it may be the last owner.
  std::shared_ptr<const StagingRequests> before;
  MutexLock lock(mu_);
  std::vector<uint64_t> sets;
  std::shared_ptr<StagingPlan> plan = Current(sets);
  // Nothing is wanted yet, so nothing is unwanted: what an earlier run left may
  // soon be wanted.
  if (plan == nullptr) return {};
  const bool same = requests_ != nullptr && SamePlan(plan_, plan);
  if (same && requests_->numbers() == sets) return {std::move(plan), requests_};
  before = std::move(requests_);
  requests_ = std::make_shared<const StagingRequests>(
      reads_->catalogue(), *plan, sets, same ? before.get() : nullptr);
  plan_ = plan;
  reads_->SetRequests(requests_);
  return {std::move(plan), requests_};
}

}  // namespace shufflefs
