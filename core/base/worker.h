// SPDX-License-Identifier: Apache-2.0
// Threads for what would keep those waiting who come to ask: a queue of jobs.
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

// Thread-safe. A job may post others.
class Worker {
 public:
  // Is called once: with OK when its turn comes, or with Cancelled where the
  // worker was stopped before. So who waits for what a job does is told.
  using Job = std::function<void(const absl::Status& turn)>;

  // Of the threads; at most 15 bytes. Jobs are begun in turn, and done `threads`
  // >= 1 at a time. One thread is there at once, the others are started when a
  // job would wait for them.
  Worker(const std::string& name, size_t threads);
  ~Worker() { Stop(); }

  // Behind those that wait; urgent ones before all that are not.
  void Post(Job job, bool urgent);
  // Cancels the jobs that wait, then waits for those that are being done. What
  // is posted from now on is cancelled by who posts it. REQUIRES: not called by
  // a job.
  void Stop();

 private:
  void Run();
  // Does nothing where the system gives no more threads.
  void StartOne() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Constant after construction.
  const std::string name_;
  const size_t most_;

  Mutex mu_;
  CondVar posted_;
  std::deque<Job> urgent_ ABSL_GUARDED_BY(mu_);
  std::deque<Job> jobs_ ABSL_GUARDED_BY(mu_);
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  size_t busy_ ABSL_GUARDED_BY(mu_) = 0;  // threads that do a job
  std::vector<std::jthread> threads_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_WORKER_H_
