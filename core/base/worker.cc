// SPDX-License-Identifier: Apache-2.0
#include "core/base/worker.h"

#include <utility>

#include "core/base/thread.h"

namespace shufflefs {
namespace {

absl::Status Stopped() {
  return absl::CancelledError("stopped before its turn");
}

}  // namespace

Worker::Worker(const std::string& name, size_t threads)
    : name_(name), most_(threads) {
  MutexLock lock(mu_);
  threads_.push_back(StartThread(name_, [this](std::stop_token) { Run(); }));
}

void Worker::StartOne() {
  auto more = TryStartThread(name_, [this](std::stop_token) { Run(); });
  if (more) threads_.push_back(*std::move(more));
}

void Worker::Post(Job job, bool urgent) {
  {
    MutexLock lock(mu_);
    if (!stopped_) {
      (urgent ? urgent_ : jobs_).push_back(std::move(job));
      const bool all_have_work =
          busy_ + urgent_.size() + jobs_.size() > threads_.size();
      if (all_have_work && threads_.size() < most_) StartOne();
      posted_.SignalOne();
      return;
    }
  }
  job(Stopped());
}

void Worker::Stop() {
  std::deque<Job> waiting;
  std::deque<Job> urgent;
  std::vector<std::jthread> threads;
  {
    MutexLock lock(mu_);
    stopped_ = true;
    waiting.swap(jobs_);
    urgent.swap(urgent_);
    threads.swap(threads_);
    posted_.SignalAll();
  }
  for (const Job& job : urgent) job(Stopped());
  for (const Job& job : waiting) job(Stopped());
  threads.clear();  // joins
}

void Worker::Run() {
  bool was_busy = false;
  for (;;) {
    Job job;
    {
      MutexLock lock(mu_);
      if (was_busy) --busy_;
      while (!stopped_ && urgent_.empty() && jobs_.empty()) posted_.Wait(mu_);
      if (stopped_) return;
      std::deque<Job>& from = urgent_.empty() ? jobs_ : urgent_;
      job = std::move(from.front());
      from.pop_front();
      was_busy = true;
      ++busy_;
    }
    job(absl::OkStatus());
  }
}

}  // namespace shufflefs
