// SPDX-License-Identifier: Apache-2.0
// Plans of parts of which bytes are read alone: a part that does not fit into
// the memory is planned once, not for each read of it.
#ifndef SHUFFLEFS_CORE_RECORDS_CONTENT_KEPT_PLANS_H_
#define SHUFFLEFS_CORE_RECORDS_CONTENT_KEPT_PLANS_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "core/base/mutex.h"
#include "core/records/order/shuffled_file.h"

namespace shufflefs {

// Thread-safe.
class KeptPlans {
 public:
  using Key = std::pair<uint64_t, uint64_t>;  // RecordFile::id, part

  // Holds plans of no more than `most` bytes, those that were asked for last.
  explicit KeptPlans(uint64_t most) : most_(most) {}

  // Null: it is not there.
  std::shared_ptr<const PartPlan> Find(Key key);
  // Lets others go for it. A plan that is larger by itself is not kept.
  void Keep(Key key, std::shared_ptr<const PartPlan> plan);
  void Forget(const absl::flat_hash_set<uint64_t>& files);
  // Of all plans, with what it takes to find them.
  uint64_t bytes() const;

 private:
  struct Kept {
    Key key;
    std::shared_ptr<const PartPlan> plan;
    uint64_t bytes = 0;
  };

  const uint64_t most_;  // constant after construction

  mutable Mutex mu_;
  std::deque<Kept> plans_ ABSL_GUARDED_BY(mu_);  // the last first
  uint64_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTENT_KEPT_PLANS_H_
