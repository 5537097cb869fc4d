// SPDX-License-Identifier: Apache-2.0
#include "core/job_epochs/group_mailbox.h"

namespace shufflefs {
namespace {

// The thread answers sooner, unless it hangs in a view.
constexpr std::chrono::milliseconds kLongestSignal{10000};
constexpr std::chrono::milliseconds kLongestSwitch{30000};

}  // namespace

void GroupMailbox::Opened(const Open& open) {
  {
    MutexLock lock(mu_);
    if (!wanted_) return;
    opens_.push_back({.name = open.name,
                      .sample = open.sample,
                      .reader = open.reader,
                      .job = open.job,
                      .foreign = open.foreign});
    if (opens_.size() > 1) return;  // the thread was woken for the first
  }
  wake_();
}

absl::Status GroupMailbox::Signal(uint64_t epoch) {
  return wish_.Ask(epoch, wake_, kLongestSignal);
}

absl::Status GroupMailbox::Switch(const std::string& settings) {
  return switch_.Ask(settings, wake_, kLongestSwitch);
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

absl::optional<uint64_t> GroupMailbox::TakeWish() { return wish_.Take(); }

void GroupMailbox::EndWish(const absl::Status& how) { wish_.Answer(how); }

absl::optional<std::string> GroupMailbox::TakeSettings() {
  return switch_.Take();
}

void GroupMailbox::EndSwitch(const absl::Status& how) { switch_.Answer(how); }

void GroupMailbox::SetWarning(const std::string& warning) {
  MutexLock lock(mu_);
  warning_ = warning;
}

}  // namespace shufflefs
