// SPDX-License-Identifier: Apache-2.0
// RecencyRing remembers the last opens of a view. It tells a double open
// (cv2.imread opens a file twice, np.load three times) from a re-open that
// belongs to a new pass. Constant memory, O(1) per open. Not thread-safe.
#ifndef SHUFFLEFS_CORE_EPOCH_RECENCY_RING_H_
#define SHUFFLEFS_CORE_EPOCH_RECENCY_RING_H_

#include <chrono>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace shufflefs {

class RecencyRing {
 public:
  // Remembers the last `capacity` (>= 1) opens.
  explicit RecencyRing(uint64_t capacity);

  // Returns whether `name` was opened less than `age` before `now`, among the
  // remembered opens. If the clock went backwards, no time has passed.
  bool Recent(uint64_t name, std::chrono::milliseconds now,
              std::chrono::milliseconds age) const;

  // Returns whether the last remembered open by `reader` was of `name`: the
  // reader opened the name again with nothing in between.
  bool RepeatedBy(uint32_t reader, uint64_t name) const;

  void Push(uint64_t name, uint32_t reader, std::chrono::milliseconds now);

  // Calls visit(name) for each remembered open, the oldest first.
  template <typename Visit>
  void ForEach(Visit&& visit) const {
    for (uint64_t i = next_ - entries_.size(); i < next_; ++i) {
      visit(entries_[i % capacity_].name);
    }
  }

 private:
  struct Entry {
    uint64_t name;
    std::chrono::milliseconds time;
    uint32_t reader;
  };

  const uint64_t capacity_;
  std::vector<Entry> entries_;  // open i is at i % capacity_
  absl::flat_hash_map<uint64_t, uint64_t> last_open_;  // name -> open
  uint64_t next_ = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_EPOCH_RECENCY_RING_H_
