// SPDX-License-Identifier: Apache-2.0
// Worker is a thread pool with an urgent and a normal queue.
#ifndef SHUFFLEFS_CORE_BASE_WORKER_H_
#define SHUFFLEFS_CORE_BASE_WORKER_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "core/base/mutex.h"

namespace shufflefs {

// Thread-safe. A job may post other jobs.
class Worker {
 public:
  // Called exactly once: with OK when its turn comes, or with Cancelled if the
  // worker was stopped before. So a job can always notify those that wait for
  // it.
  using Job = std::function<void(const absl::Status& turn)>;

  // `name` (at most 15 bytes) is that of the threads. Jobs begin in order, and
  // up to `threads` (>= 1) run at a time. One thread starts at once, the others
  // when a job would have to wait for them.
  Worker(const std::string& name, size_t threads);
  ~Worker() { Stop(); }

  // Appends the job to its queue. Urgent jobs run before all others.
  void Post(Job job, bool urgent);
  // Cancels the waiting jobs, then waits for the running ones. From now on Post
  // cancels its job on the caller's thread. REQUIRES: not called by a job.
  void Stop();

 private:
  void Run();
  // Does nothing if the system gives no more threads.
  void StartOne() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Constant after construction.
  const std::string name_;
  const size_t most_;

  Mutex mu_;
  CondVar posted_;
  std::deque<Job> urgent_ ABSL_GUARDED_BY(mu_);
  std::deque<Job> jobs_ ABSL_GUARDED_BY(mu_);
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  size_t busy_ ABSL_GUARDED_BY(mu_) = 0;  // threads that run a job
  std::vector<std::jthread> threads_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_WORKER_H_
