// SPDX-License-Identifier: Apache-2.0
// KeptPlans keeps plans of parts whose bytes are read alone. So a part that
// does not fit into the memory is planned once, not for each read.
#ifndef SHUFFLEFS_CORE_RECORDS_CONTENT_KEPT_PLANS_H_
#define SHUFFLEFS_CORE_RECORDS_CONTENT_KEPT_PLANS_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "core/base/mutex.h"
#include "core/records/order/parted_file.h"
#include "core/records/order/shuffled_file.h"

namespace shufflefs {

// Thread-safe.
class KeptPlans {
 public:
  using Key = std::pair<uint64_t, uint64_t>;  // RecordFile::id, part

  // Holds at most `most` bytes of plans, those that were used last.
  explicit KeptPlans(uint64_t most) : most_(most) {}

  // The plan of a part of a file. Makes and keeps it if it is not kept.
  std::shared_ptr<const PartPlan> OfPart(uint64_t id, const PartedFile& content,
                                         uint64_t part);
  // The plan of any bytes of the file, from the plans of their parts.
  PartPlan OfRange(uint64_t id, const PartedFile& content, uint64_t offset,
                   uint64_t length);
  // Returns null if the plan is not kept.
  std::shared_ptr<const PartPlan> Find(Key key);
  // Drops other plans to make room. A plan that is too large by itself is not
  // kept.
  void Keep(Key key, std::shared_ptr<const PartPlan> plan);
  void Forget(const absl::flat_hash_set<uint64_t>& files);
  // Returns the bytes of all plans and of what finds them.
  uint64_t bytes() const;

 private:
  struct Kept {
    Key key;
    std::shared_ptr<const PartPlan> plan;
    uint64_t bytes = 0;
  };

  const uint64_t most_;  // constant after construction

  mutable Mutex mu_;
  std::deque<Kept> plans_ ABSL_GUARDED_BY(mu_);  // the last used first
  uint64_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTENT_KEPT_PLANS_H_
