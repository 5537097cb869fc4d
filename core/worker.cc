// SPDX-License-Identifier: Apache-2.0
#include "core/worker.h"

#include <utility>

#include "core/thread.h"

namespace shufflefs {

Worker::Worker(const std::string& name, int threads) {
  const auto run = [this](std::stop_token) { Run(); };
  threads_.push_back(StartThread(name, run));
  for (int i = 1; i < threads; ++i) {
    auto more = TryStartThread(name, run);
    if (!more) break;
    threads_.push_back(*std::move(more));
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
