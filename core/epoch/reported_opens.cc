// SPDX-License-Identifier: Apache-2.0
#include "core/epoch/reported_opens.h"

#include <algorithm>
#include <utility>

namespace shufflefs {

void ReportedOpens::Judge(uint64_t names, OpenTracker& tracker,
                          EpochOutcome& outcome) {
  const bool many = waiting_.size() > std::max<uint64_t>(16, names / 3);
  const bool late = many || tracker.IsLate(outcome);
  const bool lost = std::exchange(lost_, false);
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
