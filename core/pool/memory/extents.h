// SPDX-License-Identifier: Apache-2.0
// An extent is what a pool holds as one: a whole file, or a part of a container
// as an epoch shows it. It is coming, then resident, and gone when its bytes
// were delivered. Readers that come while it is coming wait in it. The thread
// that brings its bytes answers them.
#ifndef SHUFFLEFS_CORE_POOL_MEMORY_EXTENTS_H_
#define SHUFFLEFS_CORE_POOL_MEMORY_EXTENTS_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/pool/memory/arena.h"

namespace shufflefs {

// What extents of all kinds have. The lock of its owner guards it, but for the
// bytes behind `memory`.
template <typename Waiter>
struct Extent {
  std::shared_ptr<MemoryBlock> memory;
  uint64_t length = 0;     // bytes
  uint64_t delivered = 0;  // bytes
  bool here = false;       // it is resident, or will never be
  std::vector<Waiter> waiters;

  // It came, or failed. Returns those who waited for it.
  std::vector<Waiter> Arrive() {
    here = true;
    return std::exchange(waiters, {});
  }
  // Returns whether all of it has now been delivered.
  bool Deliver(uint64_t bytes) {
    delivered += bytes;
    return delivered >= length;
  }
};

// The extents that can be found. Whoever has an extent keeps it, also after it
// was dropped, and another of the same key may then be in its place. Not
// thread-safe: the lock of its owner guards it.
template <typename Key, typename Held>
class ExtentTable {
 public:
  using Map = absl::flat_hash_map<Key, std::shared_ptr<Held>>;

  // Null if there is none.
  std::shared_ptr<Held> Find(const Key& key) const {
    const auto found = map_.find(key);
    return found == map_.end() ? nullptr : found->second;
  }
  bool Has(const Key& key) const { return map_.contains(key); }
  // Returns whether the extent of this key is `held`.
  bool Is(const Key& key, const Held& held) const {
    const auto found = map_.find(key);
    return found != map_.end() && found->second.get() == &held;
  }
  bool IsHere(const Key& key) const {
    const auto found = map_.find(key);
    return found != map_.end() && found->second->here;
  }

  // In place of another one, if there is any.
  void Put(const Key& key, std::shared_ptr<Held> held) {
    map_[key] = std::move(held);
  }
  void Drop(const Key& key) { map_.erase(key); }
  // Drops it, unless another one is in its place. Returns whether it did.
  bool Drop(const Key& key, const Held& held) {
    if (!Is(key, held)) return false;
    map_.erase(key);
    return true;
  }
  // Drops those for which `goes`(key, held) returns true.
  template <typename Goes>
  void DropIf(const Goes& goes) {
    DropSome(goes, [] { return false; });
  }
  // The same, until `enough`() returns true.
  template <typename Goes, typename Enough>
  void DropSome(const Goes& goes, const Enough& enough) {
    for (auto next = map_.begin(); next != map_.end() && !enough();) {
      const auto at = next++;
      if (goes(at->first, at->second)) map_.erase(at);
    }
  }

  typename Map::const_iterator begin() const { return map_.begin(); }
  typename Map::const_iterator end() const { return map_.end(); }

 private:
  Map map_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POOL_MEMORY_EXTENTS_H_
