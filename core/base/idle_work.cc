// SPDX-License-Identifier: Apache-2.0
#include "core/base/idle_work.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <utility>

#include "core/base/thread.h"

namespace shufflefs {
namespace {

// With SCHED_IDLE a thread runs only when nobody else wants the processor, with
// SCHED_OTHER like any other. Every user may ask for both.
void RunAs(pthread_t thread, int schedule) {
  const sched_param none{};
  pthread_setschedparam(thread, schedule, &none);
}

using Clock = std::chrono::steady_clock;

std::chrono::nanoseconds ProcessorTime() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) +
         std::chrono::nanoseconds(time.tv_nsec);
}

// The lowest priority counts only within a control group. To tasks of other
// groups and of the kernel, this thread is like any other, and it may keep the
// processor while a reader's answer waits. So the thread rests after each
// slice, and rests long if others seemed to want the processor.
class Rests {
 public:
  void Begin() {
    begun_ = Clock::now();
    processor_ = ProcessorTime();
  }
  void End() {
    const Clock::time_point ended = Clock::now();
    const auto took = ended - begun_;
    const auto processor = ProcessorTime() - processor_;
    const bool shared = was_late_ || took - processor > took / kSmall;
    const auto rest = std::min<Clock::duration>(
        shared ? took * kLongRest : took / kShortRest, kLongest);
    std::this_thread::sleep_for(rest);
    was_late_ = Clock::now() - ended - rest > kLate;
  }

 private:
  static constexpr int kSmall = 16;
  static constexpr int kShortRest = 8;
  static constexpr int kLongRest = 1;
  static constexpr std::chrono::milliseconds kLongest{5};
  // Timers alone are late by about 50 us.
  static constexpr std::chrono::microseconds kLate{250};

  Clock::time_point begun_;
  std::chrono::nanoseconds processor_{0};
  bool was_late_ = false;
};

}  // namespace

bool IdleWork::Begin(Task task) {
  MutexLock lock(mu_);
  if (stopped_ || threads_wanted_ == 0 || running_ != nullptr) return false;
  running_ = std::make_shared<Running>();
  running_->task = std::move(task);
  running_->begun = std::chrono::steady_clock::now();
  while (threads_.size() < threads_wanted_) {
    auto more = TryStartThread("sfs-idle", [this](std::stop_token) { Run(); });
    if (!more) break;
    threads_.push_back(*std::move(more));
  }
  if (threads_.empty()) {
    running_ = nullptr;
    return false;
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
  // On a busy machine the threads would notice the stop only after a long time.
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

// A task that is given up between two slices is ended by a thread that takes no
// slice.
bool IdleWork::HasWork() const {
  if (running_ == nullptr) return false;
  if (running_->over) return running_->at_work == 0;
  return running_->next < running_->task.slices;
}

void IdleWork::Run() {
  RunAs(pthread_self(), SCHED_IDLE);
  Rests rests;
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
    rests.Begin();
    const bool done = running->task.slice(slice, running->over);
    bool last = false;
    {
      MutexLock lock(mu_);
      if (done) running->over = true;
      const bool all = running->next == running->task.slices || running->over;
      last = --running->at_work == 0 && all && !stopped_;
      if (last) running_.reset();
    }
    if (last) {
      running->task.ended();
    } else {
      rests.End();
    }
  }
}

}  // namespace shufflefs
