// SPDX-License-Identifier: Apache-2.0
// GroupHeap orders groups by how soon they run out of samples in memory. It is
// a binary heap in which a group's key can change. 12 bytes per group, and its
// key; O(log groups).
#ifndef SHUFFLEFS_POLICIES_BRAND_GROUP_HEAP_H_
#define SHUFFLEFS_POLICIES_BRAND_GROUP_HEAP_H_

#include <cstdint>
#include <utility>
#include <vector>

namespace shufflefs {

// Not thread-safe.
class GroupHeap {
 public:
  // Smaller is sooner. It is the share of the unbound samples that is ready. A
  // group without unbound samples comes last.
  struct Key {
    uint32_t ready = 0;
    uint32_t unbound = 0;
    uint64_t tie = 0;
  };

  explicit GroupHeap(uint32_t groups) : keys_(groups), at_(groups, kOut) {}

  void Clear() {
    for (const uint32_t group : heap_) at_[group] = kOut;
    heap_.clear();
  }
  bool empty() const { return heap_.empty(); }
  bool contains(uint32_t group) const { return at_[group] != kOut; }
  // The group that comes first. REQUIRES: !empty().
  uint32_t top() const { return heap_.front(); }

  // Inserts the group, or changes its key.
  void Set(uint32_t group, const Key& key) {
    keys_[group] = key;
    if (!contains(group)) {
      at_[group] = static_cast<uint32_t>(heap_.size());
      heap_.push_back(group);
    }
    Settle(at_[group]);
  }

  // REQUIRES: contains(group).
  void Remove(uint32_t group) {
    const uint32_t hole = at_[group];
    at_[group] = kOut;
    const uint32_t last = heap_.back();
    heap_.pop_back();
    if (last == group) return;
    Put(hole, last);
    Settle(hole);
  }

 private:
  static constexpr uint32_t kOut = 0xFFFFFFFF;

  bool Before(uint32_t a, uint32_t b) const {
    const Key& x = keys_[a];
    const Key& y = keys_[b];
    if ((x.unbound == 0) != (y.unbound == 0)) return y.unbound == 0;
    const uint64_t left = uint64_t{x.ready} * y.unbound;
    const uint64_t right = uint64_t{y.ready} * x.unbound;
    return left != right ? left < right : x.tie < y.tie;
  }
  void Put(uint32_t at, uint32_t group) {
    heap_[at] = group;
    at_[group] = at;
  }
  void Swap(uint32_t a, uint32_t b) {
    const uint32_t group = heap_[a];
    Put(a, heap_[b]);
    Put(b, group);
  }

  void Settle(uint32_t at) {
    while (at > 0 && Before(heap_[at], heap_[(at - 1) / 2])) {
      Swap(at, (at - 1) / 2);
      at = (at - 1) / 2;
    }
    for (;;) {
      uint32_t first = at;
      for (const uint32_t child : {2 * at + 1, 2 * at + 2}) {
        if (child < heap_.size() && Before(heap_[child], heap_[first])) {
          first = child;
        }
      }
      if (first == at) return;
      Swap(at, first);
      at = first;
    }
  }

  std::vector<Key> keys_;       // by group
  std::vector<uint32_t> heap_;  // groups
  std::vector<uint32_t> at_;    // by group: its index in heap_, or kOut
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_BRAND_GROUP_HEAP_H_
