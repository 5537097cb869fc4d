// SPDX-License-Identifier: Apache-2.0
// TierSignal wakes the copying thread of a tier.
#ifndef SHUFFLEFS_CORE_STAGING_TIER_TIER_SIGNAL_H_
#define SHUFFLEFS_CORE_STAGING_TIER_TIER_SIGNAL_H_

#include <atomic>
#include <chrono>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"

namespace shufflefs {

// Thread-safe. Only Wait, Sleep and WaitFor block, and only one thread may call
// them. Stop ends every wait.
class TierSignal {
 public:
  // Tells the thread that there is something to do.
  void Raise() {
    {
      MutexLock lock(mu_);
      raised_ = true;
    }
    changed_.SignalAll();
  }
  void Stop() {
    {
      MutexLock lock(mu_);
      stopped_.store(true);
    }
    changed_.SignalAll();
  }
  bool stopped() const { return stopped_.load(); }

  // Waits for Raise, and resets it.
  void Wait() {
    MutexLock lock(mu_);
    while (!raised_ && !stopped_.load()) changed_.Wait(mu_);
    raised_ = false;
  }
  // Returns whether Raise was called since the last reset, or Stop.
  bool raised() const {
    MutexLock lock(mu_);
    return raised_ || stopped_.load();
  }
  // Returns whether Raise was called since the last reset, and resets it.
  bool Take() {
    MutexLock lock(mu_);
    const bool raised = raised_;
    raised_ = false;
    return raised;
  }
  // Waits for this time even if Raise is called, but only until Stop.
  void Sleep(std::chrono::milliseconds time) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point end = Clock::now() + time;
    MutexLock lock(mu_);
    while (!stopped_.load()) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
      if (left.count() <= 0) return;
      changed_.WaitFor(mu_, left);
    }
  }
  // Waits until `flag` is not 0. The thread that sets it must call Notify.
  void WaitFor(const std::atomic<int>& flag) {
    MutexLock lock(mu_);
    while (flag.load() == 0 && !stopped_.load()) changed_.Wait(mu_);
  }
  void Notify() {
    { MutexLock lock(mu_); }
    changed_.SignalAll();
  }

 private:
  // Self-synchronised.
  CondVar changed_;
  std::atomic<bool> stopped_{false};

  mutable Mutex mu_;
  bool raised_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_TIER_TIER_SIGNAL_H_
