// SPDX-License-Identifier: Apache-2.0
// OpenLog keeps the last opens by position: a new binding may retain these.
// Opens are numbered from 0 over the life of the log. Only the last `capacity`
// opens can be read back. Not thread-safe.
#ifndef SHUFFLEFS_CORE_EPOCH_OPEN_LOG_H_
#define SHUFFLEFS_CORE_EPOCH_OPEN_LOG_H_

#include <algorithm>
#include <cstdint>
#include <vector>

namespace shufflefs {

class OpenLog {
 public:
  explicit OpenLog(uint64_t capacity) : capacity_(capacity) {
    entries_.reserve(capacity_);
  }

  // Returns the position of the open. `repeat`: the reader opened the name
  // again at once, which is no evidence of a new pass. REQUIRES: name < 2^63.
  uint64_t Push(uint64_t name, bool repeat) {
    const uint64_t entry = name << 1 | (repeat ? 1 : 0);
    if (next_ < capacity_) {
      entries_.push_back(entry);
    } else {
      entries_[next_ % capacity_] = entry;
    }
    return next_++;
  }

  uint64_t next() const { return next_; }
  // The oldest position that can be read.
  uint64_t oldest() const { return next_ - std::min(next_, capacity_); }
  // REQUIRES: oldest() <= position < next().
  uint64_t name(uint64_t position) const {
    return entries_[position % capacity_] >> 1;
  }
  bool repeat(uint64_t position) const {
    return (entries_[position % capacity_] & 1) != 0;
  }

 private:
  const uint64_t capacity_;
  std::vector<uint64_t> entries_;
  uint64_t next_ = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_EPOCH_OPEN_LOG_H_
