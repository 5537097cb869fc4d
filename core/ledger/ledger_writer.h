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
#include "core/policy/carried.h"

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
class LedgerWriter {
 public:
  // How long it waits before it tries to append again.
  static constexpr std::chrono::milliseconds kRetryAfter{1000};
  // No more than a compaction keeps.
  static constexpr size_t kMostEnded = LedgerKeep().epochs;
  static constexpr uint64_t kMostEndedBytes = 32 << 20;

  // `view` is the view's number. The ledger lives until Close. It may be null:
  // then nothing is written or kept.
  LedgerWriter(uint8_t view, Ledger* ledger,
               std::chrono::milliseconds retry_after = kRetryAfter,
               uint64_t most_ended_bytes = kMostEndedBytes)
      : view_(view),
        retry_after_(retry_after),
        most_ended_bytes_(most_ended_bytes),
        ledger_(ledger) {}
  LedgerWriter(const LedgerWriter&) = delete;
  LedgerWriter& operator=(const LedgerWriter&) = delete;
  // Tries once more to append what was kept. Nothing is written from then on.
  void Close() ABSL_LOCKS_EXCLUDED(mu_);

  absl::optional<LedgerState> TakeLast(absl::string_view view_path)
      ABSL_LOCKS_EXCLUDED(mu_);
  void BeginEpoch(const LedgerEpoch& epoch, absl::Span<const CarriedPair> seen)
      ABSL_LOCKS_EXCLUDED(mu_);
  void Hold(const LedgerHold& hold, bool named,
            absl::Span<const CarriedPair> seen) ABSL_LOCKS_EXCLUDED(mu_);
  void Switch(const LedgerSwitch& change) ABSL_LOCKS_EXCLUDED(mu_);
  void Continue(const LedgerState& state) ABSL_LOCKS_EXCLUDED(mu_);
  void Adopt(const LedgerState& state) ABSL_LOCKS_EXCLUDED(mu_);
  void Consumed(uint64_t sample) ABSL_LOCKS_EXCLUDED(mu_);
  void ConsumedUnder(const CarriedPair& pair) ABSL_LOCKS_EXCLUDED(mu_);
  void Opened(const LedgerOpens& opens) ABSL_LOCKS_EXCLUDED(mu_);

  // Only the readers that were announced last may say what they read whole.
  // Others read on in a pass that has ended, perhaps of the same epoch.
  uint64_t AnnounceReaders() ABSL_LOCKS_EXCLUDED(mu_);
  void ReadWhole(uint64_t readers, const LedgerContainers& read)
      ABSL_LOCKS_EXCLUDED(mu_);

  // What the ledger still lacks, for status, or "".
  std::string Warning() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // What the ledger lacks.
  struct Late {
    Late(LedgerPass since, bool begun, const absl::Status& done)
        : pass(std::move(since)), begun(begun), why(done) {}
    // Whether it needs what comes before it in the ledger.
    bool IsPart() const { return begun || hold; }
    // The pass before, which the ledger will never have, showed names, too.
    void Lose(const Late& before);

    LedgerPass pass;  // or the rest of it, if the ledger has its beginning
    bool begun = false;
    // It began with this. Otherwise with pass.begin.
    absl::optional<LedgerHold> hold;
    absl::optional<LedgerSwitch> change;
    absl::Status why;
    std::chrono::steady_clock::time_point tried =
        std::chrono::steady_clock::now();
  };

  // The running pass ends. Tries to append what the ledger lacks of it, and
  // keeps what it refuses in ended_.
  void EndPass() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Whether ended_ has more than it may keep.
  bool KeepsTooMuch() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // `pass` is the running one. The ledger has it, as `done` says.
  void GoOn(const absl::Status& done, LedgerPass pass)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns whether the ledger lacks nothing. Tries to append what it lacks if
  // that is due.
  bool KeepsUp() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns whether the ledger has taken a record of the running pass. If not,
  // late_ is there to keep it.
  bool Took(const absl::Status& done) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void FallBehind(LedgerPass pass, bool begun, const absl::Status& done)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Why nothing may be appended now, because what comes before it is not there.
  absl::Status Behind() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // REQUIRES: late_.
  void CatchUp() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // If it fails, `late` is what is still to be appended.
  absl::Status Append(Late& late) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const uint8_t view_;
  const std::chrono::milliseconds retry_after_;
  const uint64_t most_ended_bytes_;

  mutable Mutex mu_;
  Ledger* ledger_ ABSL_GUARDED_BY(mu_);
  // The running pass: how it began, without what it carries, and what of it the
  // ledger has.
  LedgerEpoch begin_ ABSL_GUARDED_BY(mu_);
  LedgerTally tally_ ABSL_GUARDED_BY(mu_);
  absl::optional<Late> late_ ABSL_GUARDED_BY(mu_);
  // Passes that ended, and that the ledger must have before late_. Empty if
  // there is no late_.
  std::deque<Late> ended_ ABSL_GUARDED_BY(mu_);
  uint64_t readers_ ABSL_GUARDED_BY(mu_) = 0;
  bool lost_ ABSL_GUARDED_BY(mu_) = false;  // passes, from ended_
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_LEDGER_LEDGER_WRITER_H_
