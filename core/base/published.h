// SPDX-License-Identifier: Apache-2.0
// A value that many threads read all the time, and that is replaced now and
// then as a whole.
//
// std::atomic<std::shared_ptr> would do, but libstdc++ makes it of a spin lock
// that ThreadSanitizer cannot read, and all its readers share one counter of
// references. Here a thread has one of several slots, with a lock and a counter
// of its own that it hardly shares, and nothing is held by threads that no
// longer ask.
#ifndef SHUFFLEFS_CORE_BASE_PUBLISHED_H_
#define SHUFFLEFS_CORE_BASE_PUBLISHED_H_

#include <array>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"

namespace shufflefs {

// Thread-safe. Get waits for nothing but for Set to replace the pointers, and
// no other lock is taken meanwhile.
template <typename T>
class Published {
 public:
  Published() = default;
  Published(const Published&) = delete;
  Published& operator=(const Published&) = delete;

  // The value that was set last; null before the first. Once one thread was
  // given a value, no thread is given one before it.
  std::shared_ptr<const T> Get() const {
    Slot& slot =
        slots_[std::hash<std::thread::id>{}(std::this_thread::get_id()) %
               kSlots];
    MutexLock lock(slot.mu);
    return slot.value;
  }

  void Set(std::shared_ptr<const T> value) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    std::array<std::shared_ptr<const T>, kSlots> values;
    for (std::shared_ptr<const T>& each : values) {
      auto counted = std::make_shared<std::shared_ptr<const T>>(value);
      const T* const shown = value.get();
      each = std::shared_ptr<const T>(std::move(counted), shown);
    }
    // All at once, or a thread could see what another does not see any more.
    for (Slot& slot : slots_) slot.mu.Lock();
    for (size_t i = 0; i < kSlots; ++i) slots_[i].value.swap(values[i]);
    for (Slot& slot : slots_) slot.mu.Unlock();
    // What was there before goes with no lock held.
  }

 private:
  static constexpr size_t kSlots = 16;
  struct alignas(64) Slot {
    Mutex mu;
    std::shared_ptr<const T> value ABSL_GUARDED_BY(mu);
  };
  mutable std::array<Slot, kSlots> slots_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_PUBLISHED_H_
