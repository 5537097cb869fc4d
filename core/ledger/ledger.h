// SPDX-License-Identifier: Apache-2.0
// Ledger is the append-only record, in the state directory, of what was bound
// and consumed, by view and epoch. After a crash of the daemon it gives back
// what was consumed and what was retained. It proves that an epoch was served
// exactly once.
//
// A kill -9 loses nothing that an append answered with OK. A crash of the
// machine may lose the last seconds. Damage is detected by checksums and cut
// off, never read as something else. Only the last epochs of each view are kept
// in full.
//
// If somebody empties or removes the file, a new one begins with the next epoch
// of any view. Other views can append nothing until they begin one, too: so it
// has no epoch in part. Only BeginEpoch, Continue, Adopt, Hold, Switch and Rest
// look for that.
//
// Thread-safe. An append takes a lock, a checksum and a system call. An append
// that fails has appended nothing. Errors: the errno of a disk that is full or
// broken; DataLoss if the file has no beginning of the view's epoch;
// FailedPrecondition if somebody put another file in its place.
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
#include "core/base/files/append_log.h"
#include "core/base/files/owned_dir.h"
#include "core/base/mutex.h"
#include "core/ledger/ledger_format.h"
#include "core/ledger/ledger_history.h"
#include "core/policy/retained_bindings.h"

namespace shufflefs {

class Ledger {
 public:
  struct Options {
    LedgerKeep keep;                    // per view
    uint64_t compact_bytes = 16 << 20;  // compaction is due above this
  };

  // Opens or makes the ledger at `place`. Only one process may have it open;
  // the state directory's lock ensures this. A damaged file is cut off after
  // its valid prefix: see cut(). A file of an older version is compacted, so
  // that it becomes one of this version. Errors: the errno; FailedPrecondition
  // if it is no ledger or has an unknown version. The file is then left alone.
  static absl::StatusOr<std::unique_ptr<Ledger>> Open(FilePlace place,
                                                      Options options);

  // Why something was cut off when the ledger was opened, with file and offset.
  // OK if nothing was.
  const absl::Status& cut() const { return cut_; }

  // The view's state when the ledger was opened, or nothing. Only the first
  // call for a view returns it.
  absl::optional<LedgerState> TakeLastState(absl::string_view view_path);

  // The policy of the unfinished epoch that a view had when the ledger was
  // opened, over the dataset with this fingerprint. Unfinished: some of its
  // samples were consumed, but not all, or some containers were read. "" if
  // there is none, or after TakeLastState.
  std::string PolicyUnderWay(absl::string_view view_path,
                             uint64_t fingerprint) const;

  // Returns whether the view had shown an epoch when the ledger was opened,
  // with names or contents that differ by epoch. False after TakeLastState.
  bool GoesOn(absl::string_view view_path) const;

  // Appends. Views are numbers below kMaxLedgerViews. A view's first append is
  // BeginEpoch or Continue. `sample` is below the epoch's names. BeginEpoch
  // and Hold start a compaction on its own thread if one is due. `seen` is what
  // was consumed of the epoch before its beginning was known. It is stored
  // together with the record, or neither is.
  absl::Status BeginEpoch(const LedgerEpoch& epoch,
                          absl::Span<const NameBinding> seen = {});
  // Continues an epoch that TakeLastState returned, under `state.begin.view`.
  // Always required before the view's first append, because another view may
  // have had its number since. Costs nothing if none had.
  absl::Status Continue(const LedgerState& state);
  // The same for an epoch that the ledger does not have as it is: one from
  // elsewhere (LedgerPass::Apart), or a pass that was under way while nothing
  // could be appended. REQUIRES: Trim() after its last change.
  absl::Status Adopt(const LedgerPass& pass);
  // Searches the kept epochs of a view, including the current one, and returns
  // the last for which `fits` is true. Empty if there is none, or if the ledger
  // cannot be read. Reads the whole ledger.
  absl::optional<LedgerState> Find(
      absl::string_view view_path,
      absl::FunctionRef<bool(const LedgerPass&)> fits) const;
  absl::Status Consumed(uint8_t view, uint64_t sample);
  // The same in a reactive epoch: the sample was consumed under `name`, which
  // is also below the epoch's names.
  absl::Status ConsumedUnder(uint8_t view, uint64_t name, uint64_t sample);
  // Names of a reactive epoch that show samples, whoever opens them. Not all of
  // them were consumed yet. InvalidArgument: more than kMaxSetPairs.
  absl::Status Bound(uint8_t view, const PackedPairs& pairs);
  // An open that consumed nothing, because the name was opened before in this
  // epoch.
  absl::Status Opened(uint8_t view, const LedgerOpens& opens);
  // Containers of the epoch were delivered completely, or passes over them end
  // by hand only.
  absl::Status ReadWhole(uint8_t view, const LedgerContainers& read);
  // `seen` is as for BeginEpoch; `named` is LedgerEpoch::reactive.
  absl::Status Hold(const LedgerHold& hold, bool named = false,
                    absl::Span<const NameBinding> seen = {});
  // The same for a pass that was under way while nothing could be appended.
  // REQUIRES: Trim() after its last change.
  absl::Status Hold(const LedgerHold& hold, const LedgerPass& pass);
  absl::Status Switch(const LedgerSwitch& change);
  // Appends what was opened in a pass while nothing could be appended, if the
  // ledger has the beginning of the pass. REQUIRES: as before.
  absl::Status Rest(const LedgerPass& pass);

  // DataLoss if somebody emptied or removed the file, so that it has no
  // beginning of the view's epoch. Errors: also the errno.
  absl::Status CheckBeginning(uint8_t view) const;

  // Writes the kept epochs anew and replaces the file by the new one. A
  // consumed sample takes a bit, or a pair of twice the bits of a name if it
  // was consumed under one. Reads and writes the whole ledger, so it blocks.
  // Appends continue meanwhile.
  absl::Status Compact();

  uint64_t bytes() const;

 private:
  Ledger(FilePlace place, Options options, std::unique_ptr<AppendLog> file);
  // Starts a compaction if one is due and none runs.
  void CompactSoon() ABSL_LOCKS_EXCLUDED(mu_, compactor_mu_);
  absl::Status CompactNow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(compact_mu_);
  absl::Status CompactInto(const FilePlace& beside)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(compact_mu_);
  void Runs(const LedgerEpoch& epoch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Before a record that begins an epoch: begins a new file if somebody took
  // this one away.
  absl::Status EnsureFile() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Before any other record.
  absl::Status CheckRuns(uint8_t view) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status TakenAway() const;
  // As CheckRuns, before a record that is rare.
  absl::Status CheckFile(uint8_t view) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Callers pass `{}` for none: clang accepts no default argument here, inside
  // the class.
  struct Seen {
    bool named;
    absl::Span<const NameBinding> pairs;
  };
  template <typename Record>
  absl::Status Append(const Record& record, const Seen& seen = {})
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Constant after Open.
  const FilePlace place_;
  const Options options_;
  absl::Status cut_;

  // One compaction at a time. Taken before mu_.
  Mutex compact_mu_;

  mutable Mutex mu_;
  std::unique_ptr<AppendLog> file_ ABSL_GUARDED_BY(mu_);
  uint64_t taken_away_ ABSL_GUARDED_BY(mu_) = 0;  // files that were
  // Size after the last compaction, or at one that failed.
  uint64_t compacted_words_ ABSL_GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<std::string, LedgerState> last_ ABSL_GUARDED_BY(mu_);
  // By number: the path of the view that future appends belong to. The file has
  // a beginning of its epoch.
  absl::flat_hash_map<uint8_t, std::string> running_ ABSL_GUARDED_BY(mu_);
  bool compacting_ ABSL_GUARDED_BY(mu_) = false;

  // Taken before mu_, but never by the compactor thread. Last members, so that
  // the thread is joined before the rest is destroyed.
  Mutex compactor_mu_;
  std::jthread compactor_ ABSL_GUARDED_BY(compactor_mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_LEDGER_LEDGER_H_
