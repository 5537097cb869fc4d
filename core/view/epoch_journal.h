// SPDX-License-Identifier: Apache-2.0
// EpochJournal is a view's side of the ledger. It writes what happens in the
// view's epochs, and reads how to continue an epoch that an earlier run began.
#ifndef SHUFFLEFS_CORE_VIEW_EPOCH_JOURNAL_H_
#define SHUFFLEFS_CORE_VIEW_EPOCH_JOURNAL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "core/base/types.h"
#include "core/binding/binding.h"
#include "core/epoch/epoch_outcome.h"
#include "core/epoch/open_tracker.h"
#include "core/ledger/ledger.h"
#include "core/ledger/ledger_pass.h"
#include "core/ledger/ledger_writer.h"
#include "core/records/epoch/record_epoch.h"
#include "core/view/epoch_token.h"
#include "core/view/view_setup.h"

namespace shufflefs {

// Not thread-safe: the view's lock guards it. A call may block on a write to
// the ledger. If the ledger fails, the view goes on, and a LedgerWriter keeps
// what the ledger did not take.
class EpochJournal {
 public:
  // `id` is the view's number in the ledger. The ledger outlives the journal.
  // It may be null: then nothing is written, but shown samples are counted all
  // the same.
  EpochJournal(uint32_t id, Ledger* ledger);
  // REQUIRES: nothing was written yet.
  EpochJournal(EpochJournal&&) = default;
  // Tries once more to append what was kept.
  ~EpochJournal();

  // The last state of the ledger for the view at `path`. Only the first call
  // returns it.
  absl::optional<LedgerState> TakeLast(const std::string& path);
  // The view cannot go on with that epoch. If it was read in part, a line of
  // the log says so, and Warning until the second epoch begins.
  void Drop(const LedgerState& last, const ViewSetup& now);
  // The record that begins an epoch. `records` is null if no records are
  // shuffled.
  LedgerEpoch Record(const ViewSetup& setup, const Binding& binding,
                     Epoch epoch, const RecordEpoch* records) const;

  // An epoch begins, or continues under another binding. Names that were opened
  // according to `tracker` (may be null) count as shown. `record` was made
  // before the call.
  void Begun(const LedgerEpoch& record, const Binding& binding,
             const OpenTracker* tracker);
  void Switched(Epoch epoch, const ViewSetup& from, const ViewSetup& to);
  // A pass ended, but names keep what they show.
  void Held(Epoch epoch, const EpochOutcome& outcome, const Binding& binding,
            const OpenTracker* tracker);
  // A job continues the epoch from a token, and may open again what it had
  // opened. If the process is killed, the next one cannot tell such opens from
  // a new pass. `tracker` is null if opens are not counted.
  void Resumed(const OpenTracker* tracker);
  // From here on, opens of this epoch are reported late. If the process is
  // killed, the next one cannot know all of them.
  void OpensAreLate();
  // The first open of the name in the epoch. Records the sample that the name
  // shows.
  void Consumed(const Binding& binding, SampleId name);
  // A thread is told what the name shows, and its open will be known late. So a
  // run after a kill binds it alike.
  void Bound(const Binding& binding, SampleId name);
  // The same for all names that are bound.
  void BoundSoFar(const Binding& binding);
  // A later open of the name. Records what it may be a sign of.
  void Again(SampleId name, const EpochOutcome& outcome);

  // Names that were opened again were not opened for the next epoch: the job
  // that did so is gone.
  void ForgetAgain();

  // Notes what this epoch tells of its containers. May be called on any thread,
  // and after the journal is gone.
  RecordNotes NoterOfContainers(Epoch binding) const;

  // An epoch continues as `state` says. Continue: the state is from the ledger.
  // Adopt: it is from elsewhere.
  void Continue(LedgerState& state, const Binding& binding);
  void Adopt(LedgerState& state, const Binding& binding);
  // The opens that `state` records.
  OpenTracker::Past PastOf(const LedgerState& state, const Binding& binding);

  // What the ledger still lacks, or which epoch it had in vain, for status. Or
  // "".
  std::string Warning() const;

  // The pairs that a reactive epoch showed since it began or was held.
  const ShownPairs& shown() const { return shown_; }

  // Hands over how often samples were shown to a producer that begins. The
  // counts come from the last producer that counted, or from the ledger of an
  // earlier run. Until then, the record of each epoch has them.
  void KeepServed(const ViewSetup& before, const ViewSetup& now);
  void GiveServed(const ViewSetup& now);
  // `ended`: also counts what that epoch had shown.
  void TakeServed(const ViewSetup& now, const LedgerState& last, bool ended);

 private:
  // The counts for the record of an epoch that does not count.
  std::string ServedBefore(const ViewSetup& setup) const;
  void NoteShown(const Binding& binding, const NameBinding& pair);
  void ShowAgain(const LedgerState& state, const Binding& binding);
  std::vector<NameBinding> Seen(const Binding& binding,
                                const OpenTracker* tracker);

  const uint8_t id_;
  // Readers may end after the journal is gone.
  std::shared_ptr<LedgerWriter> writer_;
  uint64_t noted_again_ = 0;  // non-first opens noted in this epoch
  ShownPairs shown_;
  // Counts of a setup that ended. Or "": no producer counted, or one has them.
  std::string served_;
  std::string dropped_;  // a warning, or ""
  bool has_begun_ = false;
};

// Takes the pairs of a reactive epoch from the ledger if the token of the view
// at `path` does not have them. `ledger` may be null. May read all of it.
// Errors: TokenRefused.
absl::Status FindPairs(Ledger* ledger, const std::string& path,
                       EpochToken& token);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_VIEW_EPOCH_JOURNAL_H_
