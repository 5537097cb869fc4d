// SPDX-License-Identifier: Apache-2.0
// EpochJournal is a view's side of the ledger. It writes what happens in the
// view's epochs, and reads how to continue an epoch that an earlier run began.
#ifndef SHUFFLEFS_CORE_VIEW_EPOCH_JOURNAL_H_
#define SHUFFLEFS_CORE_VIEW_EPOCH_JOURNAL_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "core/base/types.h"
#include "core/binding/binding.h"
#include "core/epoch/epoch_outcome.h"
#include "core/epoch/open_tracker.h"
#include "core/ledger/ledger.h"
#include "core/ledger/ledger_history.h"
#include "core/ledger/ledger_pass.h"
#include "core/records/epoch/record_epoch.h"
#include "core/view/epoch_token.h"
#include "core/view/view_setup.h"

namespace shufflefs {

// Not thread-safe: the view's lock guards it. A write may extend the ledger's
// file. If the ledger fails, the journal logs that once and the view goes on.
//
// If the record that begins a pass cannot be appended, what follows would count
// for the pass before. So nothing is appended until the ledger takes that
// record. Meanwhile the journal keeps the pass in memory: a bit for each
// consumed sample, or its pair if the epoch is reactive. Of passes that end
// meanwhile, only the last is kept.
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
  // From here on, opens of this epoch are reported late. If the process is
  // killed, the next one cannot know all of them.
  void OpensAreLate();
  // The first open of the name in the epoch. Records the sample that the name
  // shows.
  void Consumed(const Binding& binding, SampleId name);
  // A later open of the name. Records what it may be a sign of.
  void Again(SampleId name, const EpochOutcome& outcome);

  // Notes that this epoch delivered a container completely. May be called on
  // any thread, and after the journal is gone.
  std::function<void(EntryId)> NoterOfContainers(Epoch binding) const;

  // An epoch continues as `state` says. Continue: the state is from the ledger.
  // Adopt: it is from elsewhere.
  void Continue(LedgerState& state, const Binding& binding);
  void Adopt(LedgerState& state, const Binding& binding);
  // The opens that `state` records.
  OpenTracker::Past PastOf(const LedgerState& state, const Binding& binding);

  // What the ledger still lacks, for status, or "".
  std::string Warning() const;

  // How long it waits before it tries to append again.
  static constexpr std::chrono::milliseconds kRetryAfter{1000};

  // The pairs that a reactive epoch showed since it began or was held.
  const ShownPairs& shown() const { return shown_; }

  // Hands over how often samples were shown to a supply that begins. The counts
  // come from the last supply that counted, or from the ledger of an earlier
  // run.
  void KeepServed(const ViewSetup& before, const ViewSetup& now);
  void GiveServed(const ViewSetup& now);
  // `ended`: also counts what that epoch had shown.
  void TakeServed(const ViewSetup& now, const LedgerState& last, bool ended);

 private:
  // A pass whose beginning is not in the ledger.
  struct Late {
    Late(LedgerPass since, const absl::Status& done);
    // It ended, but names keep what they show.
    void Hold(const LedgerHold& next);

    LedgerPass pass;
    // It began with this. Otherwise with pass.begin.
    absl::optional<LedgerHold> hold;
    absl::optional<LedgerSwitch> change;
    std::string why;
    std::chrono::steady_clock::time_point tried;
  };

  void Note(const absl::Status& done);
  // A pass began. Returns whether the ledger has its beginning, as `done` says.
  bool Began(const absl::Status& done, Epoch epoch);
  // Returns where to keep what was opened, or null if the ledger takes it.
  Late* Lagging();
  // Appends what was kept, if that is possible now.
  void CatchUp();
  void Opened(const LedgerOpens& opens);
  void NoteShown(const Binding& binding, const CarriedPair& pair);
  void ShowAgain(const LedgerState& state, const Binding& binding);
  std::vector<CarriedPair> Seen(const Binding& binding,
                                const OpenTracker* tracker);

  // Readers may end after the journal is gone.
  class Noter;

  const uint32_t id_;
  Ledger* const ledger_;
  std::shared_ptr<Noter> noter_;
  bool failed_ = false;
  uint64_t names_ = 0;  // of the view
  absl::optional<Late> late_;
  uint64_t noted_again_ = 0;  // non-first opens noted in this epoch
  ShownPairs shown_;
  std::string served_;  // counts of a setup that ended, or ""
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_VIEW_EPOCH_JOURNAL_H_
