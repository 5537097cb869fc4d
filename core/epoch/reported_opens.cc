// SPDX-License-Identifier: Apache-2.0
#include "core/epoch/reported_opens.h"

#include <algorithm>
#include <utility>

namespace shufflefs {
namespace {

constexpr absl::string_view kMissesReader =
    "a process reads in a directory that it opened before the scan ended, "
    "and its opens are not seen: epochs are held until the next mount; "
    "-o open=seen sees them";

}  // namespace

absl::string_view ReportedOpens::Warning() const {
  return expected_ && misses_reader_ ? kMissesReader : "";
}

bool ReportedOpens::LostInJob(const EpochOutcome& outcome,
                              bool is_younger) const {
  if (!lost_before_ || (is_crash_ && is_younger)) return false;
  // Another job has begun, and the last open of the one before came after the
  // loss. So every open of the new one is known.
  const bool is_old = outcome.rule == 't' && counted_ > *lost_before_ + 1;
  return !is_old;
}

void ReportedOpens::Judge(uint64_t names, bool is_younger, OpenTracker& tracker,
                          OpenTracker::Seen& seen) {
  EpochOutcome& outcome = seen.outcome;
  const bool many = waiting_.size() > std::max<uint64_t>(16, names / 3);
  const bool late = expected_ && (many || tracker.IsLate(outcome));
  const bool crashed = std::exchange(crashed_, false);
  const bool missed = expected_ && misses_reader_;
  const bool lost = crashed || missed || LostInJob(outcome, is_younger);
  const bool was_doubtful = std::exchange(is_doubtful_, late || lost);
  if ((is_doubtful_ || was_doubtful) &&
      seen.suspicion == Suspicion::kUnopened) {
    seen.suspicion = Suspicion::kNone;
  }
  // Other reasons to hold are stronger than that reports come late. But if
  // opens were lost, it is not known what the others are about.
  const bool clean = lost || outcome.verdict == Verdict::kRebind ||
                     outcome.reason == HoldReason::kForeignJob ||
                     outcome.reason == HoldReason::kStray;
  if (!clean || !is_doubtful_) return;
  if (late) tracker.ShowWalksEarlier();
  outcome.verdict = Verdict::kHold;
  outcome.reason = lost ? HoldReason::kLost : HoldReason::kLate;
}

}  // namespace shufflefs
