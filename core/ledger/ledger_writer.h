// SPDX-License-Identifier: Apache-2.0
// LedgerWriter writes what happens in one view to the ledger. It keeps in
// memory what the ledger does not take, because its disk is full or fails, and
// appends it once the ledger takes it.
#ifndef SHUFFLEFS_CORE_LEDGER_LEDGER_WRITER_H_
#define SHUFFLEFS_CORE_LEDGER_LEDGER_WRITER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "core/base/mutex.h"
#include "core/ledger/ledger.h"
#include "core/ledger/ledger_containers.h"
#include "core/ledger/ledger_format.h"
#include "core/ledger/ledger_history.h"
#include "core/ledger/ledger_opens.h"
#include "core/ledger/ledger_pass.h"
#include "core/ledger/packed_pairs.h"
#include "core/policy/retained_bindings.h"

namespace shufflefs {

// Thread-safe. The methods are those of Ledger. They return nothing: what the
// ledger refuses is logged once, and kept.
//
// If the record that begins a pass is refused, what follows would count for the
// pass before. If another record is refused, what follows would stand behind a
// gap. So from then on nothing is appended, and the pass is kept in memory: a
// bit for each consumed sample, or its pair if it was consumed under a name.
// Each call tries again, but not before `retry_after` has passed.
//
// Of passes that end meanwhile, the last are kept, too: at most kMostEnded, in
// at most kMostEndedBytes of memory. The last one is kept whatever it takes.
//
// A call is made for a reader who waits. So each call appends at most
// kMostAtOnce of what was kept, or one pass if that is larger: a pass is one
// append, so that a kill leaves the whole of it or nothing. Passes are never
// appended in another order, and nothing new is appended before them.
//
// If somebody emptied the ledger, a pass whose beginning was in it is neither
// recorded nor kept any more.
class LedgerWriter {
 public:
  // How long it waits before it tries to append again.
  static constexpr std::chrono::milliseconds kRetryAfter{1000};
  // No more than a compaction keeps.
  static constexpr size_t kMostEnded = LedgerKeep().epochs;
  static constexpr uint64_t kMostEndedBytes = 32 << 20;
  static constexpr uint64_t kMostAtOnce = 256 << 10;

  struct Limits {
    std::chrono::milliseconds retry_after = kRetryAfter;
    uint64_t most_ended_bytes = kMostEndedBytes;
    uint64_t most_at_once = kMostAtOnce;
  };

  // `view` is the view's number. The ledger lives until Close. It may be null:
  // then nothing is written or kept.
  LedgerWriter(uint8_t view, Ledger* ledger)
      : LedgerWriter(view, ledger, Limits()) {}
  LedgerWriter(uint8_t view, Ledger* ledger, const Limits& limits)
      : view_(view), limits_(limits), ledger_(ledger) {}
  LedgerWriter(const LedgerWriter&) = delete;
  LedgerWriter& operator=(const LedgerWriter&) = delete;
  // Tries once more to append what was kept. Nothing is written from then on.
  void Close() ABSL_LOCKS_EXCLUDED(mu_);

  absl::optional<LedgerState> TakeLast(absl::string_view view_path)
      ABSL_LOCKS_EXCLUDED(mu_);
  void BeginEpoch(const LedgerEpoch& epoch, absl::Span<const NameBinding> seen)
      ABSL_LOCKS_EXCLUDED(mu_);
  void Hold(const LedgerHold& hold, bool named,
            absl::Span<const NameBinding> seen) ABSL_LOCKS_EXCLUDED(mu_);
  void Switch(const LedgerSwitch& change) ABSL_LOCKS_EXCLUDED(mu_);
  void Continue(const LedgerState& state) ABSL_LOCKS_EXCLUDED(mu_);
  void Adopt(const LedgerState& state) ABSL_LOCKS_EXCLUDED(mu_);
  void Consumed(uint64_t sample) ABSL_LOCKS_EXCLUDED(mu_);
  void ConsumedUnder(const NameBinding& pair) ABSL_LOCKS_EXCLUDED(mu_);
  // Any number of pairs.
  void Bound(const PackedPairs& pairs) ABSL_LOCKS_EXCLUDED(mu_);
  void Opened(const LedgerOpens& opens) ABSL_LOCKS_EXCLUDED(mu_);

  // Only the readers that were announced last may say what they read whole.
  // Others read on in a pass that has ended, perhaps of the same epoch.
  uint64_t AnnounceReaders() ABSL_LOCKS_EXCLUDED(mu_);
  void ReadWhole(uint64_t readers, const LedgerContainers& read)
      ABSL_LOCKS_EXCLUDED(mu_);
  // The same whoever says it.
  void NoteContainers(const LedgerContainers& read) ABSL_LOCKS_EXCLUDED(mu_);

  // What the ledger still lacks, for status, or "".
  std::string Warning() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // What the ledger lacks.
  struct Late {
    Late(LedgerPass since, bool begun) : pass(std::move(since)), begun(begun) {}
    // Whether it needs what comes before it in the ledger.
    bool IsPart() const { return begun || hold; }
    // The pass before, which the ledger will never have, showed names, too.
    void Lose(const Late& before);

    LedgerPass pass;  // or the rest of it, if the ledger has its beginning
    bool begun = false;
    // It began with this. Otherwise with pass.begin.
    absl::optional<LedgerHold> hold;
    absl::optional<LedgerSwitch> change;
  };

  void Note(const LedgerContainers& read) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Whether what is opened now is recorded or kept.
  bool Records() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The running pass ends. Tries to append what the ledger lacks of it, and
  // keeps what it refuses in ended_.
  void EndPass() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The same, and the next one needs nothing of it.
  void EndPasses() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Whether ended_ has more than it may keep.
  bool KeepsTooMuch() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // `pass` is the running one. The ledger has it, as `done` says.
  void GoOn(const absl::Status& done, LedgerPass pass)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns whether the ledger lacks nothing. Tries to append what it lacks if
  // that is due.
  bool KeepsUp() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns whether the ledger has taken a record of the running pass. If not,
  // late_ is there to keep it, unless the pass is gone.
  bool Took(const absl::Status& done) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The ledger has no beginning of the running pass any more.
  void LoseRunning(const absl::Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void FallBehind(LedgerPass pass, bool begun, const absl::Status& done)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // What is kept, for Warning.
  std::string Kept() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Why nothing may be appended now, because what comes before it is not there.
  absl::Status Behind() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Appends some of what was kept, or all. REQUIRES: late_.
  void CatchUp(bool all = false) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Appends from ended_ as much as one call may, or all. OK: nothing is left,
  // and the call may append more.
  absl::Status AppendEnded(bool all) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // If it fails, `late` is what is still to be appended.
  absl::Status Append(Late& late) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const uint8_t view_;
  const Limits limits_;

  mutable Mutex mu_;
  Ledger* ledger_ ABSL_GUARDED_BY(mu_);
  // The running pass: how it began, without what it retains, and what of it the
  // ledger has.
  LedgerEpoch begin_ ABSL_GUARDED_BY(mu_);
  LedgerTally tally_ ABSL_GUARDED_BY(mu_);
  absl::optional<Late> late_ ABSL_GUARDED_BY(mu_);
  // Passes that ended, and that the ledger must have before late_. Empty if
  // there is no late_.
  std::deque<Late> ended_ ABSL_GUARDED_BY(mu_);
  // Why something is kept, and when that was last tried.
  absl::Status why_ ABSL_GUARDED_BY(mu_);
  std::chrono::steady_clock::time_point tried_ ABSL_GUARDED_BY(mu_);
  // Not OK: of the running pass nothing is recorded or kept. Then late_ is
  // empty.
  absl::Status gone_ ABSL_GUARDED_BY(mu_);
  uint64_t readers_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t lost_ ABSL_GUARDED_BY(mu_) = 0;  // passes, from ended_
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_LEDGER_LEDGER_WRITER_H_
