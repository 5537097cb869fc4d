// SPDX-License-Identifier: Apache-2.0
// IdleWork runs long tasks on threads that run only while nobody else wants the
// processor. A task is cut into slices of ideally about a millisecond. The
// threads rest between slices.
#ifndef SHUFFLEFS_CORE_BASE_IDLE_WORK_H_
#define SHUFFLEFS_CORE_BASE_IDLE_WORK_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/types/optional.h"
#include "core/base/mutex.h"

namespace shufflefs {

// Thread-safe. The destructor waits until the running slices have ended.
class IdleWork {
 public:
  struct Task {
    uint64_t slices = 0;
    // Does one slice, by number. Returns true if the task is done; the
    // remaining slices are dropped. Must return soon after the flag is set.
    // Several threads call it at once.
    std::function<bool(uint64_t, const std::atomic<bool>&)> slice;
    // Called once: after all slices, after a slice that returned true, or after
    // GiveUp. Not called if this object is destroyed before.
    std::function<void()> ended;
  };

  // With 0 threads, no task is ever done.
  explicit IdleWork(uint32_t threads) : threads_wanted_(threads) {}
  ~IdleWork() { Stop(); }

  // Returns false and begins nothing while another task runs.
  bool Begin(Task task);
  // Ends the running task at once, although it is not done.
  void GiveUp();
  // Drops the running task; no task begins afterwards. REQUIRES: not called by
  // a task.
  void Stop();

  struct Progress {
    double share = 0;  // share of the slices that are done
    std::chrono::milliseconds time{0};
  };
  // Empty if no task runs.
  absl::optional<Progress> progress() const;

 private:
  struct Running {
    Task task;
    std::chrono::steady_clock::time_point begun;
    uint64_t next = 0;     // next slice
    uint64_t at_work = 0;  // threads that run a slice
    std::atomic<bool> over{false};
  };
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Run();

  // Constant after construction.
  const uint32_t threads_wanted_;

  mutable Mutex mu_;
  CondVar changed_;
  std::shared_ptr<Running> running_ ABSL_GUARDED_BY(mu_);
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  // They are started with the first task.
  std::vector<std::jthread> threads_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_IDLE_WORK_H_
