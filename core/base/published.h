// SPDX-License-Identifier: Apache-2.0
// Published is a value that many threads read all the time, and that is
// replaced as a whole now and then.
//
// std::atomic<std::shared_ptr> would also work. But libstdc++ implements it
// with a spin lock that ThreadSanitizer cannot read, and all its readers share
// one reference count. Here each thread uses one of several slots. A slot has
// its own lock and reference count, which few threads share. Threads that no
// longer read hold nothing.
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

// Thread-safe. Get waits only while Set replaces the pointers, and takes no
// other lock meanwhile.
template <typename T>
class Published {
 public:
  Published() = default;
  Published(const Published&) = delete;
  Published& operator=(const Published&) = delete;

  // The value that was set last; null before the first Set. After one thread
  // got a value, no thread gets an earlier one.
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
    // All slots change at once. Otherwise a thread could get a value that is
    // already gone for another thread.
    for (Slot& slot : slots_) slot.mu.Lock();
    for (size_t i = 0; i < kSlots; ++i) slots_[i].value.swap(values[i]);
    for (Slot& slot : slots_) slot.mu.Unlock();
    // The old value is destroyed with no lock held.
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
