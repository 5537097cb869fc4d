// SPDX-License-Identifier: Apache-2.0
// MemberPolls numbers the polls of a group's members. A member that answers a
// poll has told before what was opened there until then. For EpochLead.
#ifndef SHUFFLEFS_CORE_JOB_EPOCHS_MEMBER_POLLS_H_
#define SHUFFLEFS_CORE_JOB_EPOCHS_MEMBER_POLLS_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "core/job_epochs/poll_times.h"

namespace shufflefs {

// Not thread-safe.
class MemberPolls {
 public:
  using Time = std::chrono::milliseconds;  // monotonic

  static constexpr Time kBetween{10};
  // Whoever has not answered then is not waited for.
  static constexpr Time kLongest{1000};

  // Polls are counted from `now`: an answer to one of an earlier run must not
  // count as one to this run's. `repeat`: after so long one is sent again.
  MemberPolls(Time now, Time repeat) : first_(now.count()), repeat_(repeat) {}

  // The number of the last poll that was sent. 0: none was.
  uint64_t last() const { return last_; }
  // The same as messages have it.
  uint64_t round() const { return first_ + last_; }
  // The poll of this run that a message with `round` answers, or 0.
  uint64_t Answered(uint64_t round) const {
    return round > first_ && round <= first_ + last_ ? round - first_ : 0;
  }

  // All members have answered the polls up to `answered`. Returns whether the
  // others are waited for no longer.
  bool IsOverdue(uint64_t answered, Time now) const {
    return answered < last_ && now - polled_ > kLongest;
  }
  // All have answered the last one, or are not waited for.
  void EndLast(Time now) {
    if (std::exchange(answered_, true)) return;
    times_.Add(polled_, now);
  }
  // Returns whether a poll is to be sent now, with last(): the next one if all
  // have answered, or else the last one again.
  bool Sends(uint64_t answered, Time now) {
    const bool next = answered == last_ && now - polled_ >= kBetween;
    const bool again = answered < last_ && now - sent_ >= repeat_;
    if (!next && !again) return false;
    if (next) {
      ++last_;
      polled_ = now;
      answered_ = false;
    }
    sent_ = now;
    return true;
  }

  // How long the polls of this epoch took. Those of the next one begin.
  PollTimes TakeTimes() { return std::exchange(times_, {}); }
  // How late an open may have been told that was opened at `time`.
  static Time LatestAfter(const PollTimes& times, Time time) {
    return std::max(kBetween, times.LongestSince(time)) + kBetween;
  }

 private:
  const uint64_t first_;
  const Time repeat_;
  uint64_t last_ = 0;
  Time polled_{0};  // when the last one was sent first
  Time sent_{0};    // and last
  bool answered_ = false;
  PollTimes times_;  // of this epoch
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_JOB_EPOCHS_MEMBER_POLLS_H_
