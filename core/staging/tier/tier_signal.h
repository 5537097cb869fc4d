// SPDX-License-Identifier: Apache-2.0
// What the copying thread of a tier sleeps on.
#ifndef SHUFFLEFS_CORE_STAGING_TIER_TIER_SIGNAL_H_
#define SHUFFLEFS_CORE_STAGING_TIER_TIER_SIGNAL_H_

#include <atomic>
#include <chrono>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"

namespace shufflefs {

// Thread-safe. Only the waits wait, and one thread at a time does.
class TierSignal {
 public:
  // There is something to look at.
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

  // Waits for Raise, and takes it.
  void Wait() {
    MutexLock lock(mu_);
    while (!raised_ && !stopped_.load()) changed_.Wait(mu_);
    raised_ = false;
  }
  // Whether there was one.
  bool raised() const {
    MutexLock lock(mu_);
    return raised_ || stopped_.load();
  }
  // The same; takes it.
  bool Take() {
    MutexLock lock(mu_);
    const bool raised = raised_;
    raised_ = false;
    return raised;
  }
  // Waits that time whatever is raised, but not beyond Stop.
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
  // Waits until `flag` is not 0, which Notify says.
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
