// SPDX-License-Identifier: Apache-2.0
// A view's side of the ledger: what is written of its epochs as they go, and
// what an epoch that an earlier run began is gone on with.
#ifndef SHUFFLEFS_CORE_VIEW_EPOCH_JOURNAL_H_
#define SHUFFLEFS_CORE_VIEW_EPOCH_JOURNAL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "core/base/types.h"
#include "core/binding/binding.h"
#include "core/epoch/epoch_outcome.h"
#include "core/epoch/epoch_watch.h"
#include "core/ledger/ledger.h"
#include "core/ledger/ledger_history.h"
#include "core/view/epoch_token.h"
#include "core/view/view_setup.h"

namespace shufflefs {

// Not thread-safe: the view's lock guards it. A write may extend the ledger's
// file. Where the ledger fails, that is logged once and the view goes on.
class EpochJournal {
 public:
  // `id` is the view's in the ledger, which outlives the journal and may be
  // null: then nothing is written, and what is shown is counted all the same.
  EpochJournal(uint32_t id, Ledger* ledger) : id_(id), ledger_(ledger) {}

  // What the ledger ends with for the view of that path; once.
  absl::optional<LedgerState> TakeLast(const std::string& path);
  // What begins an epoch. `moves`: something that is shown depends on it.
  LedgerEpoch Record(const ViewSetup& setup, const Binding& binding,
                     Epoch epoch, bool moves) const;

  // An epoch begins, or goes on under another binding. What `watch` (may be
  // null) says was opened of it already counts as shown. `record` was made
  // before.
  void Begun(const LedgerEpoch& record, const Binding& binding,
             const EpochWatch* watch);
  void Switched(Epoch epoch, const ViewSetup& from, const ViewSetup& to);
  // A pass ended, and names keep what they show.
  void Held(Epoch epoch, const EpochOutcome& outcome, const Binding& binding,
            const EpochWatch* watch);
  // An open of the name, the first in the epoch; as what it shows.
  void Consumed(const Binding& binding, SampleId name);
  // One that is not the first: what it may be a sign of.
  void Again(SampleId name, const EpochOutcome& outcome);

  // An epoch goes on as `state` says: from the ledger, or from elsewhere.
  void Continue(LedgerState& state, const Binding& binding);
  void Adopt(LedgerState& state, const Binding& binding);
  // The opens that `state` tells of.
  EpochWatch::Past PastOf(const LedgerState& state, const Binding& binding);

  // Of a reactive epoch, what it showed since it began or was held.
  const ShownPairs& shown() const { return shown_; }

  // How often samples were shown goes over to a supply that begins: from the
  // last one that counted it, or from what the ledger has of an earlier run.
  void KeepServed(const ViewSetup& before, const ViewSetup& now);
  void GiveServed(const ViewSetup& now);
  // `ended`: what the epoch had shown counts, too.
  void TakeServed(const ViewSetup& now, const LedgerState& last, bool ended);

 private:
  void Note(const absl::Status& done);
  void NoteShown(const Binding& binding, const CarriedPair& pair);
  void ShowAgain(const LedgerState& state, const Binding& binding);
  std::vector<CarriedPair> Seen(const Binding& binding,
                                const EpochWatch* watch);

  const uint32_t id_;
  Ledger* const ledger_;
  bool failed_ = false;
  uint64_t noted_again_ = 0;  // opens, in this epoch
  ShownPairs shown_;
  std::string served_;  // of a setup that ended, or ""
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_VIEW_EPOCH_JOURNAL_H_
