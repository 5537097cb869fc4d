// SPDX-License-Identifier: Apache-2.0
// Plan is the plan of one epoch: the orders that a policy gives to the groups
// of a dataset and to the whole view. A pure function of (dataset, policy
// options, seed, epoch). The object only remembers orders that it has made.
#ifndef SHUFFLEFS_CORE_POLICY_PLAN_H_
#define SHUFFLEFS_CORE_POLICY_PLAN_H_

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "core/base/mutex.h"
#include "core/base/types.h"
#include "core/dataset/dataset.h"
#include "core/policy/policy.h"

namespace shufflefs {

// Thread-safe. An order is made at its first use, which costs what the policy
// says (nothing for O(1) orders, a table for pages). It lives as long as the
// plan. Nothing does I/O: device blocks come with the dataset.
class Plan {
 public:
  Plan(std::shared_ptr<const Dataset> dataset,
       std::shared_ptr<const Policy> policy, Seed seed, Epoch epoch);

  // The order of a group's samples: position -> index in the group.
  const Order& group_order(GroupId group) const;
  // The listing order of names that show group_order: k -> position, over
  // `size` adjacent names (all of the group, or its part in one directory).
  std::unique_ptr<const Order> Listing(GroupId group, uint64_t part_key,
                                       uint64_t size) const;
  // The order of the view's samples: rank -> SampleId value.
  const Order& view_order() const;

  const Dataset& dataset() const { return *dataset_; }
  const Policy& policy() const { return *policy_; }
  Seed seed() const { return seed_; }
  Epoch epoch() const { return epoch_; }

 private:
  Stratum GroupStratum(GroupId group) const;

  // Constant after construction.
  const std::shared_ptr<const Dataset> dataset_;
  const std::shared_ptr<const Policy> policy_;
  const Seed seed_;
  const Epoch epoch_;

  mutable Mutex mu_;
  mutable absl::flat_hash_map<GroupId, std::unique_ptr<const Order>> groups_
      ABSL_GUARDED_BY(mu_);
  mutable std::unique_ptr<const Order> view_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POLICY_PLAN_H_
