// SPDX-License-Identifier: Apache-2.0
#include "core/worker.h"

#include <utility>

#include "core/thread.h"

namespace shufflefs {
namespace {

absl::Status Stopped() {
  return absl::CancelledError("stopped before its turn");
}

}  // namespace

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
  {
    MutexLock lock(mu_);
    if (!stopped_) {
      (urgent ? urgent_ : jobs_).push_back(std::move(job));
      posted_.SignalOne();
      return;
    }
  }
  job(Stopped());
}

void Worker::Stop() {
  std::deque<Job> waiting;
  std::deque<Job> urgent;
  {
    MutexLock lock(mu_);
    stopped_ = true;
    waiting.swap(jobs_);
    urgent.swap(urgent_);
    posted_.SignalAll();
  }
  for (const Job& job : urgent) job(Stopped());
  for (const Job& job : waiting) job(Stopped());
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
    job(absl::OkStatus());
  }
}

}  // namespace shufflefs
