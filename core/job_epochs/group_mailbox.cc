// SPDX-License-Identifier: Apache-2.0
#include "core/job_epochs/group_mailbox.h"

namespace shufflefs {
namespace {

// The thread answers sooner, unless it hangs in a view.
constexpr std::chrono::milliseconds kLongest{10000};

}  // namespace

void GroupMailbox::Opened(const Open& open) {
  {
    MutexLock lock(mu_);
    if (!wanted_) return;
    opens_.push_back({.name = open.name,
                      .reader = open.reader,
                      .job = open.job,
                      .foreign = open.foreign});
    if (opens_.size() > 1) return;  // the thread was woken for the first
  }
  wake_();
}

absl::Status GroupMailbox::Signal(uint64_t epoch) {
  uint64_t before = 0;
  {
    MutexLock lock(mu_);
    wish_ = epoch;
    before = wishes_;
  }
  wake_();
  MutexLock lock(mu_);
  while (wishes_ == before) {
    if (!ended_.WaitFor(mu_, kLongest) && wishes_ == before) {
      return absl::UnavailableError("peers: no answer");
    }
  }
  return how_;
}

std::string GroupMailbox::Warning() const {
  MutexLock lock(mu_);
  return warning_;
}

void GroupMailbox::WantOpens(bool wanted) {
  MutexLock lock(mu_);
  wanted_ = wanted;
  if (!wanted) opens_.clear();
}

std::vector<EpochOpen> GroupMailbox::TakeOpens() {
  MutexLock lock(mu_);
  return std::exchange(opens_, {});
}

absl::optional<uint64_t> GroupMailbox::TakeWish() {
  MutexLock lock(mu_);
  return std::exchange(wish_, absl::nullopt);
}

void GroupMailbox::EndWish(const absl::Status& how) {
  {
    MutexLock lock(mu_);
    ++wishes_;
    how_ = how;
  }
  ended_.SignalAll();
}

void GroupMailbox::SetWarning(const std::string& warning) {
  MutexLock lock(mu_);
  warning_ = warning;
}

}  // namespace shufflefs
