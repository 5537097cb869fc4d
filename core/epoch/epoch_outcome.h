// SPDX-License-Identifier: Apache-2.0
// The verdict of the epoch detector about an open. Plain values.
#ifndef SHUFFLEFS_CORE_EPOCH_EPOCH_OUTCOME_H_
#define SHUFFLEFS_CORE_EPOCH_EPOCH_OUTCOME_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace shufflefs {

enum class Verdict : uint8_t { kNone, kRebind, kHold };

enum class HoldReason : uint8_t {
  kNone,
  kOverflow,    // the log does not reach back to the new pass's start
  kStray,       // re-opens were common in this epoch
  kUntrusted,   // the epoch began with rule c and ended by rule a
  kForeignJob,  // another job read in this epoch and still exists
  kPartial,     // rule c
  kLost,        // opens were not reported, or a crash lost their reports
  kLate,        // the pass had begun before its walks could be seen
  kPeers,       // the group of several nodes decided so
};
// Returns "overflow", "stray", "untrusted", "guest", "partial", "lost", "late",
// "peers", or "" for kNone.
absl::string_view HoldReasonName(HoldReason reason);

// Of EpochOutcome::rule: "takeover" for 't', "signal" for 's', else the letter.
std::string VerdictName(char rule);

enum class OpenClass : uint8_t {
  kFresh,
  kReopen,
  kStray,
  kDouble,
  kForeignJob,
  kBefore,  // the first since a job resumed the epoch, but not ever
};

// Whether and how an epoch ended.
struct EpochOutcome {
  Verdict verdict = Verdict::kNone;
  OpenClass open = OpenClass::kFresh;
  // A double open by the same reader, with nothing in between.
  bool repeat = false;
  char rule = 0;  // 'a', 'b', 'c', 't', 's' (signal); 0 without a verdict
  HoldReason reason = HoldReason::kNone;  // why the verdict is to hold
  // For kRebind: the names that keep their sample in the new epoch, each once.
  // The name whose open brought the verdict is among them, because it was
  // looked up before. At most 16 and a third of all names, and never more than
  // 8192. Empty after a signal.
  std::vector<uint64_t> retained;
  // With any verdict: the position (EpochDetector::position) of the first open
  // whose name is retained, or would be.
  uint64_t retained_from = 0;
  // For kRebind: the open that brought the verdict is the first of its name in
  // the pass that begins. So nobody was shown anything of that pass yet.
  bool begins_pass = false;
  // Names that a foreign job had opened before this open made it the owner.
  // From now on each counts as opened in the epoch.
  std::vector<uint64_t> counted;
  // Number of names that the ended epoch had opened. Set with any verdict.
  uint64_t ended_seen = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_EPOCH_EPOCH_OUTCOME_H_
