// SPDX-License-Identifier: Apache-2.0
// What the epoch detector says about an open. Plain values.
#ifndef SHUFFLEFS_CORE_EPOCH_EPOCH_OUTCOME_H_
#define SHUFFLEFS_CORE_EPOCH_EPOCH_OUTCOME_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"

namespace shufflefs {

enum class Verdict : uint8_t { kNone, kRebind, kHold };

enum class HoldReason : uint8_t {
  kNone,
  kOverflow,   // the new pass began before the log reaches back
  kStray,      // re-opens were common in this epoch
  kUntrusted,  // the epoch began with rule c and ended by rule a
  kGuest,      // another family read in this epoch and is still there
  kPartial,    // rule c
};
// "overflow", "stray", "untrusted", "guest", "partial"; "" for kNone.
absl::string_view HoldReasonName(HoldReason reason);

enum class OpenClass : uint8_t {
  kFresh,
  kReopen,
  kStray,
  kDouble,
  kGuest,
  kBefore,  // the first since a job went on with the epoch, but not ever
};

// How an epoch ended, or that it did not.
struct EpochOutcome {
  Verdict verdict = Verdict::kNone;
  OpenClass open = OpenClass::kFresh;
  bool repeat = false;  // a double: by the same reader, nothing in between
  char rule = 0;  // 'a', 'b', 'c', 't', 's' (signal); 0 without a verdict
  HoldReason reason = HoldReason::kNone;  // of a hold
  // On a re-binding: the names that keep their sample in the new epoch, each
  // once, the one whose open brought the verdict among them (it was looked up
  // before). At most a third of all names or 16, whichever is more, and never
  // more than 8192. Empty after a signal.
  std::vector<uint64_t> carried;
  // On a re-binding: the open that brought the verdict is the first of its name
  // in the pass that begins, so nobody was shown anything of it yet.
  bool begins_pass = false;
  // Names that a guest had opened before this open made it the owner: each is
  // opened in the epoch from now on.
  std::vector<uint64_t> counted;
  // Names the ended epoch had opened; with any verdict.
  uint64_t ended_seen = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_EPOCH_EPOCH_OUTCOME_H_
