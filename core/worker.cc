// SPDX-License-Identifier: Apache-2.0
#include "core/worker.h"

#include <utility>

#include "core/thread.h"

namespace shufflefs {

Worker::Worker(const std::string& name, int threads) {
  for (int i = 0; i < threads; ++i) {
    threads_.push_back(StartThread(name, [this](std::stop_token) { Run(); }));
  }
}

void Worker::Post(Job job, bool urgent) {
  MutexLock lock(mu_);
  if (stopped_) return;
  (urgent ? urgent_ : jobs_).push_back(std::move(job));
  posted_.SignalOne();
}

void Worker::Stop() {
  std::deque<Job> dropped;
  std::deque<Job> dropped_urgent;
  {
    MutexLock lock(mu_);
    stopped_ = true;
    dropped.swap(jobs_);
    dropped_urgent.swap(urgent_);
    posted_.SignalAll();
  }
  dropped.clear();
  dropped_urgent.clear();
  threads_.clear();  // joins
}

void Worker::Run() {
  for (;;) {
    Job job;
    {
      MutexLock lock(mu_);
      while (!stopped_ && urgent_.empty() && jobs_.empty()) posted_.Wait(mu_);
      if (stopped_) return;
      std::deque<Job>& from = urgent_.empty() ? jobs_ : urgent_;
      job = std::move(from.front());
      from.pop_front();
    }
    job();
  }
}

}  // namespace shufflefs
