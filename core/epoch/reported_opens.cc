// SPDX-License-Identifier: Apache-2.0
#include "core/epoch/reported_opens.h"

#include <algorithm>
#include <utility>

namespace shufflefs {

bool ReportedOpens::LostInJob(const EpochOutcome& outcome,
                              bool is_younger) const {
  if (!lost_before_ || (is_crash_ && is_younger)) return false;
  // Another job has begun, and the last open of the one before came after the
  // loss. So every open of the new one is known.
  const bool is_old = outcome.rule == 't' && counted_ > *lost_before_ + 1;
  return !is_old;
}

void ReportedOpens::Judge(uint64_t names, bool is_younger, OpenTracker& tracker,
                          EpochOutcome& outcome) {
  const bool many = waiting_.size() > std::max<uint64_t>(16, names / 3);
  const bool late = many || tracker.IsLate(outcome);
  const bool crashed = std::exchange(crashed_, false);
  const bool lost = crashed || LostInJob(outcome, is_younger);
  // Other reasons to hold are stronger than these.
  const bool clean = outcome.verdict == Verdict::kRebind ||
                     outcome.reason == HoldReason::kForeignJob ||
                     outcome.reason == HoldReason::kStray;
  if (!clean || !(late || lost)) return;
  if (late) tracker.ShowWalksEarlier();
  outcome.verdict = Verdict::kHold;
  outcome.reason = lost ? HoldReason::kLost : HoldReason::kLate;
}

}  // namespace shufflefs
