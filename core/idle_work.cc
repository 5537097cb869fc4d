// SPDX-License-Identifier: Apache-2.0
#include "core/idle_work.h"

#include <pthread.h>
#include <sched.h>

#include <utility>

#include "core/thread.h"

namespace shufflefs {
namespace {

// SCHED_IDLE: only when nobody else wants the processor; SCHED_OTHER: like
// anybody. Both may be asked for by all.
void RunAs(pthread_t thread, int schedule) {
  const sched_param none{};
  pthread_setschedparam(thread, schedule, &none);
}

}  // namespace

bool IdleWork::Begin(Task task) {
  MutexLock lock(mu_);
  if (stopped_ || threads_wanted_ == 0 || running_ != nullptr) return false;
  running_ = std::make_shared<Running>();
  running_->task = std::move(task);
  running_->begun = std::chrono::steady_clock::now();
  while (threads_.size() < threads_wanted_) {
    threads_.push_back(
        StartThread("sfs-idle", [this](std::stop_token) { Run(); }));
  }
  changed_.SignalAll();
  return true;
}

void IdleWork::GiveUp() {
  MutexLock lock(mu_);
  if (running_ == nullptr) return;
  running_->over = true;
  changed_.SignalAll();
}

void IdleWork::Stop() {
  std::vector<std::jthread> threads;
  {
    MutexLock lock(mu_);
    stopped_ = true;
    if (running_ != nullptr) running_->over = true;
    threads.swap(threads_);
    changed_.SignalAll();
  }
  // Where the machine is busy they would not come to see it for long.
  for (std::jthread& thread : threads) {
    RunAs(thread.native_handle(), SCHED_OTHER);
  }
  threads.clear();  // joins
}

absl::optional<IdleWork::Progress> IdleWork::progress() const {
  MutexLock lock(mu_);
  if (running_ == nullptr) return absl::nullopt;
  Progress progress;
  progress.share = static_cast<double>(running_->next) /
                   static_cast<double>(running_->task.slices);
  progress.time = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - running_->begun);
  return progress;
}

// What is given up between two slices is ended by one that returns at once.
bool IdleWork::HasWork() const {
  if (running_ == nullptr) return false;
  if (running_->over) return running_->at_work == 0;
  return running_->next < running_->task.slices;
}

void IdleWork::Run() {
  RunAs(pthread_self(), SCHED_IDLE);
  for (;;) {
    std::shared_ptr<Running> running;
    uint64_t slice = 0;
    {
      MutexLock lock(mu_);
      while (!stopped_ && !HasWork()) changed_.Wait(mu_);
      if (stopped_) return;
      running = running_;
      slice = running->next++;
      ++running->at_work;
    }
    const bool done = running->task.slice(slice, running->over);
    bool last = false;
    {
      MutexLock lock(mu_);
      if (done) running->over = true;
      const bool all = running->next == running->task.slices || running->over;
      last = --running->at_work == 0 && all && !stopped_;
      if (last) running_.reset();
    }
    if (last) running->task.ended();
  }
}

}  // namespace shufflefs
