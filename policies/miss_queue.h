// SPDX-License-Identifier: Apache-2.0
// By group, the group's samples in the order in which an epoch plans to fetch
// them, filled piece by piece by a plan. 4 bytes a sample and 8 a group.
#ifndef SHUFFLEFS_POLICIES_MISS_QUEUE_H_
#define SHUFFLEFS_POLICIES_MISS_QUEUE_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "policies/sample_table.h"

namespace shufflefs {

// Not thread-safe.
class MissQueue {
 public:
  // `table` outlives the queue.
  explicit MissQueue(const SampleTable& table)
      : table_(table), samples_(table.size()), ends_(table.group_count()) {}

  void Clear() { std::fill(ends_.begin(), ends_.end(), Ends()); }

  void Push(uint32_t sample) {
    const uint32_t group = table_.group_of(sample);
    samples_[table_.first(group) + ends_[group].pushed++] = sample;
  }
  uint32_t pushed(uint32_t group) const { return ends_[group].pushed; }

  // The first of the group's that is not bound, or kNone. What is bound stays
  // so for the epoch and is passed once: O(1) over an epoch.
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

  const SampleTable& table_;
  std::vector<uint32_t> samples_;  // from each group's first on
  std::vector<Ends> ends_;         // by group
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_MISS_QUEUE_H_
