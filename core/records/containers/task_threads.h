// SPDX-License-Identifier: Apache-2.0
// TaskThreads owns threads that each do one thing and end, such as to index the
// containers of a view. It joins those that have ended whenever it starts
// another, so that they do not pile up.
#ifndef SHUFFLEFS_CORE_RECORDS_CONTAINERS_TASK_THREADS_H_
#define SHUFFLEFS_CORE_RECORDS_CONTAINERS_TASK_THREADS_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "core/base/thread.h"

namespace shufflefs {

// Thread-safe. No lock is held while a thread is joined.
class TaskThreads {
 public:
  ~TaskThreads() { Stop(); }

  // As StartThread.
  void Start(std::string name, std::function<void(std::stop_token)> run) {
    JoinEnded();
    Task task;
    task.ended = std::make_shared<std::atomic<bool>>(false);
    task.thread =
        StartThread(std::move(name), [run = std::move(run), ended = task.ended](
                                         std::stop_token stop) mutable {
          run(std::move(stop));
          run = nullptr;  // what it has captured goes first
          *ended = true;
        });
    MutexLock lock(mu_);
    tasks_.push_back(std::move(task));
  }

  // Asks all to stop, and waits for them. REQUIRES: not called by one.
  void Stop() {
    std::vector<Task> tasks;
    {
      MutexLock lock(mu_);
      tasks.swap(tasks_);
    }
    for (Task& task : tasks) task.thread.request_stop();
  }

  // Returns how many have not ended.
  size_t Running() {
    JoinEnded();
    MutexLock lock(mu_);
    return tasks_.size();
  }

 private:
  struct Task {
    std::jthread thread;
    std::shared_ptr<std::atomic<bool>> ended;
  };

  void JoinEnded() {
    std::vector<Task> ended;
    MutexLock lock(mu_);
    for (size_t i = 0; i < tasks_.size();) {
      if (!*tasks_[i].ended) {
        ++i;
        continue;
      }
      ended.push_back(std::move(tasks_[i]));
      tasks_[i] = std::move(tasks_.back());
      tasks_.pop_back();
    }
  }

  Mutex mu_;
  std::vector<Task> tasks_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTAINERS_TASK_THREADS_H_
