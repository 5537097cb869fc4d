// SPDX-License-Identifier: Apache-2.0
// PollTimes knows how long the nodes took to answer polls. That is how late an
// open may have been told.
#ifndef SHUFFLEFS_CORE_JOB_EPOCHS_POLL_TIMES_H_
#define SHUFFLEFS_CORE_JOB_EPOCHS_POLL_TIMES_H_

#include <algorithm>
#include <chrono>
#include <deque>

namespace shufflefs {

// Not thread-safe. Drops polls before a longer one.
class PollTimes {
 public:
  using Time = std::chrono::milliseconds;  // monotonic

  // All nodes have answered a poll that was sent at `sent`.
  void Add(Time sent, Time now) {
    const Time took = std::max(now - sent, Time(1));
    while (!polls_.empty() && polls_.back().took <= took) polls_.pop_back();
    polls_.push_back({now, took});
  }
  // The longest of those that were answered at `time` or later. 0 if there is
  // none.
  Time LongestSince(Time time) const {
    for (const Poll& poll : polls_) {
      if (poll.answered >= time) return poll.took;
    }
    return Time(0);
  }

 private:
  struct Poll {
    Time answered{0};
    Time took{0};
  };
  std::deque<Poll> polls_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_JOB_EPOCHS_POLL_TIMES_H_
