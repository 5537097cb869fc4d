// SPDX-License-Identifier: Apache-2.0
#include "core/epoch/recency_ring.h"

#include <algorithm>

namespace shufflefs {
namespace {

// RepeatedBy looks back this many opens. It fails only if more readers than
// this open files between the two opens of one client call.
constexpr uint64_t kReadersAtOnce = 64;

}  // namespace

RecencyRing::RecencyRing(uint64_t capacity) : capacity_(capacity) {
  entries_.reserve(capacity_);
  last_open_.reserve(capacity_);
}

bool RecencyRing::Recent(uint64_t name, std::chrono::milliseconds now,
                         std::chrono::milliseconds age) const {
  const auto it = last_open_.find(name);
  return it != last_open_.end() &&
         now - entries_[it->second % capacity_].time < age;
}

bool RecencyRing::RepeatedBy(uint32_t reader, uint64_t name) const {
  const uint64_t depth = std::min({kReadersAtOnce, next_, capacity_});
  for (uint64_t back = 1; back <= depth; ++back) {
    const Entry& entry = entries_[(next_ - back) % capacity_];
    if (entry.reader == reader) return entry.name == name;
  }
  return false;
}

void RecencyRing::Push(uint64_t name, uint32_t reader,
                       std::chrono::milliseconds now) {
  if (next_ < capacity_) {
    entries_.push_back({name, now, reader});
  } else {
    Entry& oldest = entries_[next_ % capacity_];
    const auto it = last_open_.find(oldest.name);
    if (it != last_open_.end() && it->second == next_ - capacity_) {
      last_open_.erase(it);
    }
    oldest = {name, now, reader};
  }
  last_open_[name] = next_++;
}

}  // namespace shufflefs
