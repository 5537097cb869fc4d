// SPDX-License-Identifier: Apache-2.0
// The ledger: the append-only record, in the state directory, of what was
// bound and consumed, by view and epoch. After a crash
// of the daemon it gives back what was consumed and what was carried, and it
// proves that an epoch was served exactly once.
//
// Everything is stored through a shared mapping: a kill -9 loses nothing that
// an append answered with OK; a crash of the machine may lose the last
// seconds. Damage is found by checksums and cut off, never read as something
// else. Only the last epochs of each view are kept in full.
//
// Thread-safe. Appending takes a lock, a checksum and a store, and once in
// thousands of appends a call that lets the file grow. An append that fails
// (the disk is full: the errno is in the status) appended nothing.
#ifndef SHUFFLEFS_CORE_LEDGER_LEDGER_H_
#define SHUFFLEFS_CORE_LEDGER_LEDGER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "core/base/files/owned_dir.h"
#include "core/base/files/word_file.h"
#include "core/base/mutex.h"
#include "core/ledger/ledger_format.h"
#include "core/ledger/ledger_history.h"
#include "core/policy/carried.h"

namespace shufflefs {

class Ledger {
 public:
  struct Options {
    LedgerKeep keep;                    // of each view
    uint64_t compact_bytes = 16 << 20;  // compaction is due above this
  };

  // Opens or makes the ledger at `place`. Only one process may have it open:
  // the state directory's lock sees to that. A damaged file is cut behind its
  // valid prefix: see cut(). One of an older version is compacted, so that it
  // is of this one. Errors: the errno; FailedPrecondition, and the file is
  // left alone, if it is not a ledger or of a version yet unknown.
  static absl::StatusOr<std::unique_ptr<Ledger>> Open(FilePlace place,
                                                      Options options);

  // Why something was cut off when the ledger was opened, with file and
  // offset; OK if nothing was.
  const absl::Status& cut() const { return cut_; }

  // How the view stood when the ledger was opened, or nothing. May be asked
  // once for each view; the answer is not kept.
  absl::optional<LedgerState> TakeLastState(absl::string_view view_path);

  // The policy of the epoch that a view was in the middle of when the ledger
  // was opened, over the dataset with this fingerprint: something of it was
  // consumed, and not all. "" if there is none, or after TakeLastState.
  std::string PolicyUnderWay(absl::string_view view_path,
                             uint64_t fingerprint) const;

  // Whether the view had shown an epoch when the ledger was opened, of names or
  // contents that differ by epoch. False after TakeLastState.
  bool GoesOn(absl::string_view view_path) const;

  // Appends. Views are numbers below kMaxLedgerViews; a view's first append
  // is BeginEpoch or Continue. `sample` is below the epoch's names. BeginEpoch
  // starts a compaction on a thread of its own when one is due.
  // `seen`: what was consumed of the epoch before that was known; it is there
  // with the record or neither is.
  absl::Status BeginEpoch(const LedgerEpoch& epoch,
                          absl::Span<const CarriedPair> seen = {});
  // Goes on with an epoch that TakeLastState gave, under `state.begin.view`.
  // Always needed before the view's first append: its number may have been
  // another view's since. Costs nothing where it was not.
  absl::Status Continue(const LedgerState& state);
  // The same with an epoch that another ledger tells of, or this one did: it
  // begins here, with what was consumed of it.
  absl::Status Adopt(const LedgerState& state);
  // The last of the kept epochs of a view that `fits`, the one that is under
  // way among them; nothing if there is none, or the ledger cannot be read.
  // Reads all of it.
  absl::optional<LedgerState> Find(
      absl::string_view view_path,
      absl::FunctionRef<bool(const LedgerPass&)> fits) const;
  absl::Status Consumed(uint8_t view, uint64_t sample);
  // The same in a reactive epoch: consumed as what `name` shows, which is
  // below the epoch's names, too.
  absl::Status ConsumedUnder(uint8_t view, uint64_t name, uint64_t sample);
  // An open that consumed nothing: of a name that is not opened for the first
  // time in the epoch.
  absl::Status Opened(uint8_t view, const LedgerOpens& opens);
  // `seen` as for BeginEpoch, `named` as LedgerEpoch::reactive.
  absl::Status Hold(const LedgerHold& hold, bool named = false,
                    absl::Span<const CarriedPair> seen = {});
  absl::Status Switch(const LedgerSwitch& change);

  // Writes the kept epochs anew, a bit a consumed sample, or the pair in twice
  // the bits of a name where it was consumed under one, and puts that file
  // in the place of the old. Reads and writes the whole ledger, so it blocks;
  // appends go on meanwhile.
  absl::Status Compact();

  uint64_t bytes() const;

 private:
  Ledger(FilePlace place, Options options, std::unique_ptr<WordFile> file);
  // Starts a compaction if one is due and none runs.
  void CompactSoon() ABSL_LOCKS_EXCLUDED(mu_, compactor_mu_);
  absl::Status CompactNow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(compact_mu_);
  void Runs(const LedgerEpoch& epoch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // `{}` is none: clang takes no default here, inside the class.
  struct Seen {
    bool named;
    absl::Span<const CarriedPair> pairs;
  };
  template <typename Record>
  absl::Status Append(const Record& record, const Seen& seen = {})
      ABSL_LOCKS_EXCLUDED(mu_);

  // Constant after Open.
  const FilePlace place_;
  const Options options_;
  absl::Status cut_;

  // One compaction at a time. Taken before mu_.
  Mutex compact_mu_;

  mutable Mutex mu_;
  std::unique_ptr<WordFile> file_ ABSL_GUARDED_BY(mu_);
  // Size after the last compaction, or at one that failed.
  uint64_t compacted_words_ ABSL_GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<std::string, LedgerState> last_ ABSL_GUARDED_BY(mu_);
  // By number, the path of the view that what is appended next belongs to.
  absl::flat_hash_map<uint8_t, std::string> running_ ABSL_GUARDED_BY(mu_);
  bool compacting_ ABSL_GUARDED_BY(mu_) = false;

  // Taken before mu_; never by the thread itself. Last, so that the thread is
  // joined before the rest goes.
  Mutex compactor_mu_;
  std::jthread compactor_ ABSL_GUARDED_BY(compactor_mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_LEDGER_LEDGER_H_
