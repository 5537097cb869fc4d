// SPDX-License-Identifier: Apache-2.0
// MissQueue has, by group, the group's samples in the order in which an epoch
// plans to fetch them, chunk by chunk. A plan fills it. The samples of a chunk
// come in random order; otherwise the same one would be read alone first in
// every epoch. 4 bytes per sample and 8 per group.
#ifndef SHUFFLEFS_POLICIES_BRAND_MISS_QUEUE_H_
#define SHUFFLEFS_POLICIES_BRAND_MISS_QUEUE_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/random/random.h"
#include "policies/sample_table.h"

namespace shufflefs {

// Not thread-safe.
class MissQueue {
 public:
  // `table` outlives the queue.
  explicit MissQueue(const SampleTable& table)
      : table_(table),
        samples_(std::make_unique_for_overwrite<uint32_t[]>(table.size())),
        ends_(table.group_count()) {}

  void BeginEpoch(RandomKey key) {
    std::fill(ends_.begin(), ends_.end(), Ends());
    rng_ = Rng(SubKey(key, kStream));
  }

  void Push(const std::vector<uint32_t>& chunk) {
    mixed_ = chunk;
    for (uint64_t i = mixed_.size(); i > 0; --i) {
      std::swap(mixed_[i - 1], mixed_[rng_.Bounded(i)]);
      const uint32_t group = table_.group_of(mixed_[i - 1]);
      samples_[table_.first(group) + ends_[group].pushed++] = mixed_[i - 1];
    }
  }
  uint32_t pushed(uint32_t group) const { return ends_[group].pushed; }

  // The first unbound sample of the group, or kNone. A bound sample stays bound
  // for the epoch and is skipped only once: O(1) over an epoch.
  uint32_t FirstUnbound(uint32_t group) {
    Ends& ends = ends_[group];
    for (; ends.passed < ends.pushed; ++ends.passed) {
      const uint32_t sample = samples_[table_.first(group) + ends.passed];
      if (!table_.bound(sample)) return sample;
    }
    return SampleTable::kNone;
  }

 private:
  struct Ends {
    uint32_t passed = 0;
    uint32_t pushed = 0;
  };

  static constexpr uint64_t kStream = 1;  // subkey of the epoch's key

  const SampleTable& table_;
  Rng rng_{RandomKey(0)};
  std::vector<uint32_t> mixed_;                // a chunk
  const std::unique_ptr<uint32_t[]> samples_;  // from each group's first on
  std::vector<Ends> ends_;                     // by group
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_BRAND_MISS_QUEUE_H_
