// SPDX-License-Identifier: Apache-2.0
// Fetcher is the queue between those who want bytes and the sources that read
// them. It bounds what is under way: a read waits here until its owner has room
// for it. Urgent reads begin first, devices take turns, and the reads of a
// device begin in their order. So a device that hangs stops no other.
//
// Everything that reads for the pool waits in a Fetcher: parts of shuffled
// containers, reads that bypass the pool, stretches of packed chunks, and
// widened reads of the tier. Behind it, the ReadQueue of a FileReader chooses
// the order on the device.
#ifndef SHUFFLEFS_CORE_POOL_FETCHER_H_
#define SHUFFLEFS_CORE_POOL_FETCHER_H_

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "core/pool/device_lanes.h"

namespace shufflefs {

// `Item` is one read that waits. Thread-safe. No call waits for a device. The
// owner stays alive while a call runs.
template <typename Item>
class Fetcher {
 public:
  struct Hooks {
    // Takes room for the item, which waits in this lane. Returns false if there
    // is none; then the item stays first. Called with the fetcher's lock held.
    // It may take locks under which nobody calls the fetcher.
    std::function<bool(size_t lane, Item& item)> take_room;
    // Begins items that have room, in this order. Called with no lock held. It
    // may call the fetcher, but for Wait.
    std::function<void(std::vector<Item> items)> begin;
    // One thread at a time calls `begin`, with all that has room: the source
    // gets the reads in their order. If false, each thread begins one item at a
    // time, because that costs time of a processor.
    bool in_order = true;
  };

  // REQUIRES: lanes >= 1.
  Fetcher(size_t lanes, Hooks hooks)
      : hooks_(std::move(hooks)), waiting_(lanes) {}

  // Adds items to those that wait in a lane. Begins nothing: call Pump. After
  // Stop it returns false and leaves the items alone.
  bool Add(size_t lane, std::vector<Item>& items, bool urgent)
      ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(mu_);
    if (stopped_) return false;
    for (Item& item : items) waiting_.Push(lane, std::move(item), urgent);
    return true;
  }
  // The same, before the others that wait, because they began before them.
  bool AddFirst(size_t lane, std::vector<Item>& items, bool urgent)
      ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(mu_);
    if (stopped_) return false;
    for (size_t i = items.size(); i > 0; --i) {
      waiting_.PushFirst(lane, std::move(items[i - 1]), urgent);
    }
    return true;
  }
  bool Add(size_t lane, Item& item, bool urgent) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(mu_);
    if (stopped_) return false;
    waiting_.Push(lane, std::move(item), urgent);
    return true;
  }

  // Begins what has room. Call it after an Add, and after room became free.
  void Pump() ABSL_LOCKS_EXCLUDED(mu_) {
    {
      MutexLock lock(mu_);
      // The thread that begins items looks again before it returns.
      if (hooks_.in_order && beginning_ > 0) return;
      ++beginning_;
    }
    for (;;) {
      std::vector<Item> items = TakeOrEnd();
      if (items.empty()) return;
      hooks_.begin(std::move(items));
    }
  }

  // From now on nothing is added, and nothing that waits begins. Returns what
  // waited.
  std::vector<Item> Stop() ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(mu_);
    stopped_ = true;
    return waiting_.Clear();
  }
  // Waits until no thread begins items. They may have room from before a Stop.
  void Wait() ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(mu_);
    while (beginning_ > 0) ended_.Wait(mu_);
  }

 private:
  // Returns what begins next. If it returns nothing, this thread is done.
  std::vector<Item> TakeOrEnd() ABSL_LOCKS_EXCLUDED(mu_) {
    std::vector<Item> items;
    MutexLock lock(mu_);
    while (TakeOne(items) && hooks_.in_order) {
    }
    if (items.empty() && --beginning_ == 0) ended_.SignalAll();
    return items;
  }
  bool TakeOne(std::vector<Item>& items) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    for (size_t i = 0; i < waiting_.offers(); ++i) {
      const auto [lane, item] = waiting_.At(i);
      // Without room, the read that ends next continues here.
      if (item == nullptr || !hooks_.take_room(lane, *item)) continue;
      items.push_back(waiting_.Take(lane));
      return true;
    }
    return false;
  }

  // Constant after construction.
  const Hooks hooks_;

  Mutex mu_;
  CondVar ended_;  // beginning_ became 0
  LaneQueue<Item> waiting_ ABSL_GUARDED_BY(mu_);
  size_t beginning_ ABSL_GUARDED_BY(mu_) = 0;  // threads in Pump
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POOL_FETCHER_H_
