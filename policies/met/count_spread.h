// SPDX-License-Identifier: Apache-2.0
// CountSpread keeps the smallest and the largest of many counts that grow by
// one at a time, without looking at them all.
#ifndef SHUFFLEFS_POLICIES_MET_COUNT_SPREAD_H_
#define SHUFFLEFS_POLICIES_MET_COUNT_SPREAD_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <vector>

namespace shufflefs {

// Not thread-safe. Memory: some 50 bytes per value that differs from all
// others. Counts of met have about as many as a repeating factor.
class CountSpread {
 public:
  // Linear.
  void Reset(const std::vector<uint32_t>& counts) {
    having_.clear();
    if (counts.empty()) return;
    const uint32_t least = *std::min_element(counts.begin(), counts.end());
    std::array<uint64_t, 256> near{};  // nearly all counts, without a search
    for (const uint32_t count : counts) {
      if (count - least < near.size()) {
        ++near[count - least];
      } else {
        ++having_[count];
      }
    }
    for (uint32_t i = 0; i < near.size(); ++i) {
      if (near[i] > 0) having_[least + i] = near[i];
    }
  }
  // One of them was `count`, and is now larger by one. REQUIRES: one was.
  void Raise(uint32_t count) {
    const auto found = having_.find(count);
    if (--found->second == 0) having_.erase(found);
    ++having_[count + 1];
  }
  // 0 if there are no counts.
  uint32_t least() const {
    return having_.empty() ? 0 : having_.begin()->first;
  }
  uint32_t most() const {
    return having_.empty() ? 0 : having_.rbegin()->first;
  }

 private:
  std::map<uint32_t, uint64_t> having_;  // by value: how many counts have it
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_MET_COUNT_SPREAD_H_
