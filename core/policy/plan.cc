// SPDX-License-Identifier: Apache-2.0
#include "core/policy/plan.h"

#include <utility>

namespace shufflefs {

Plan::Plan(std::shared_ptr<const Dataset> dataset,
           std::shared_ptr<const Policy> policy, Seed seed, Epoch epoch)
    : dataset_(std::move(dataset)),
      policy_(std::move(policy)),
      seed_(seed),
      epoch_(epoch) {}

Stratum Plan::GroupStratum(GroupId group) const {
  const Grouping::Group info = dataset_->grouping().group(group);
  Stratum stratum{info.key, info.samples, nullptr};
  if (policy_->wants_blocks()) {
    stratum.blocks = &dataset_->group_blocks(group, policy_->block_bytes());
  }
  return stratum;
}

const Order& Plan::group_order(GroupId group) const {
  MutexLock lock(mu_);
  std::unique_ptr<const Order>& slot = groups_[group];
  if (slot == nullptr) {
    slot = policy_->MakeOrder(GroupStratum(group), seed_, epoch_);
  }
  return *slot;
}

std::unique_ptr<const Order> Plan::Listing(GroupId group, uint64_t part_key,
                                           uint64_t size) const {
  Stratum stratum = GroupStratum(group);
  // A part of a group (one directory of a view-wide group) has no blocks of its
  // own, because its names show samples from anywhere.
  if (size != stratum.size) stratum.blocks = nullptr;
  stratum.key ^= part_key;
  stratum.size = size;
  return policy_->MakeListing(stratum, seed_, epoch_);
}

const Order& Plan::view_order() const {
  MutexLock lock(mu_);
  if (view_ == nullptr) {
    Stratum stratum{dataset_->key(), dataset_->grouping().sample_count(),
                    nullptr};
    if (policy_->wants_blocks()) {
      stratum.blocks = &dataset_->view_blocks(policy_->block_bytes());
    }
    stratum.grouping = &dataset_->grouping();
    view_ = policy_->MakeOrder(stratum, seed_, epoch_);
  }
  return *view_;
}

}  // namespace shufflefs
