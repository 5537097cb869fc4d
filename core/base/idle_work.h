// SPDX-License-Identifier: Apache-2.0
// Long work, cut into slices, for threads that run only while nobody else wants
// the processor, and rest between slices, which had best be about a millisecond
// long.
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

// Thread-safe. The destructor waits until the slices under way have ended.
class IdleWork {
 public:
  struct Task {
    uint64_t slices = 0;
    // Does one, by number; true: the task is done, and the rest is left. To
    // return soon once the flag is set. Called by several threads at once.
    std::function<bool(uint64_t, const std::atomic<bool>&)> slice;
    // Called once, when all slices were done, one was the last or they were
    // given up; not if this object goes before.
    std::function<void()> ended;
  };

  // 0 threads: nothing is ever done.
  explicit IdleWork(uint32_t threads) : threads_wanted_(threads) {}
  ~IdleWork() { Stop(); }

  // False, and nothing is begun, while another task is under way.
  bool Begin(Task task);
  // What is under way is to end at once, though not all was done.
  void GiveUp();
  // What is under way is dropped, and nothing begins any more. REQUIRES: not
  // called by a task.
  void Stop();

  struct Progress {
    double share = 0;  // of the slices
    std::chrono::milliseconds time{0};
  };
  // Nothing while none is under way.
  absl::optional<Progress> progress() const;

 private:
  struct Running {
    Task task;
    std::chrono::steady_clock::time_point begun;
    uint64_t next = 0;     // slice
    uint64_t at_work = 0;  // threads
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
  // Started with the first task.
  std::vector<std::jthread> threads_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_IDLE_WORK_H_
