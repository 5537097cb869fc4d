// SPDX-License-Identifier: Apache-2.0
// One pass over a view, as a ledger keeps it and returns it.
#ifndef SHUFFLEFS_CORE_LEDGER_LEDGER_PASS_H_
#define SHUFFLEFS_CORE_LEDGER_LEDGER_PASS_H_

#include <set>
#include <vector>

#include "absl/status/status.h"
#include "core/base/files/append_log.h"
#include "core/base/status.h"
#include "core/ledger/ledger_containers.h"
#include "core/ledger/ledger_format.h"
#include "core/ledger/ledger_opens.h"
#include "core/ledger/packed_pairs.h"
#include "core/ledger/sample_set.h"
#include "core/policy/retained_bindings.h"

namespace shufflefs {

// What proves that a promise was broken in a pass. Of each at most kMost are
// kept: one is enough for a proof.
struct LedgerEvidence {
  static constexpr size_t kMost = 4096;

  // Samples that were consumed without a name, once more each time.
  std::vector<uint64_t> surplus;
  // Names that were opened again after every sample had been consumed. If the
  // next epoch retains others, but not these, readers missed samples.
  std::vector<uint64_t> again;
};

// One epoch of a view: how it began and what was consumed in it.
struct LedgerState {
  LedgerEpoch begin;  // holds advance `epoch`, but not `binding`
  SampleSet consumed;
  // For a reactive epoch: every known pair, including those of `begin.retained`
  // and those from before a hold. First come those that were not consumed in
  // this pass, then the consumed ones in order. They are as recorded;
  // RetainedBindings::Make checks whether they are one to one.
  std::vector<NameBinding> bound;
  uint64_t bound_consumed = 0;  // how many at the end were consumed
  LedgerOpens recent;           // the last opens in order
  // Containers that were delivered completely, by entry of the catalogue.
  std::vector<uint64_t> containers;
  LedgerEvidence evidence;

  // The two parts of `bound`.
  absl::Span<const NameBinding> not_consumed() const {
    return absl::MakeConstSpan(bound).first(bound.size() - bound_consumed);
  }
  absl::Span<const NameBinding> bound_and_consumed() const {
    return absl::MakeConstSpan(bound).last(bound_consumed);
  }
};

// What later records of a pass depend on.
struct LedgerTally {
  // `number` as in LedgerOpen.
  void Consumed(uint64_t number) {
    recent.Add(LedgerOpen{LedgerOpen::Kind::kFirst, number});
    ++consumptions;
  }

  RecentOpens recent;
  uint64_t consumptions = 0;
};

// A LedgerState with each pair packed and stored once.
struct LedgerPass {
  explicit LedgerPass(LedgerEpoch epoch)
      : begin(std::move(epoch)), held(begin.names), shown(begin.names) {}
  explicit LedgerPass(const LedgerState& state);
  // An epoch of another ledger, or an earlier one of this ledger. It begins
  // here, with its consumed samples.
  static LedgerPass Apart(const LedgerState& state);
  // The rest of a pass, of which a ledger has the beginning and `before`.
  LedgerPass(LedgerEpoch epoch, LedgerTally before)
      : LedgerPass(std::move(epoch)) {
    tally = std::move(before);
  }

  // The pass that a hold begins: nothing is consumed, and names are bound as in
  // this one.
  LedgerPass Held(const LedgerHold& hold) const;
  LedgerState State() const;  // REQUIRES: Trim() after the last change
  // Adds what was opened, as Ledger's methods of these names.
  void Consumed(uint64_t sample);
  void ConsumedUnder(const NameBinding& pair);
  void Opened(const LedgerOpens& opens);
  void ReadWhole(const LedgerContainers& read);
  // Adds to `held`.
  void Bound(const PackedPairs& pairs);
  // It ended: `next` began, or a hold. Drops what is of no use then.
  void EndBefore(const LedgerEpoch& next);
  void EndHeld();
  // Releases memory that was needed only to fill it.
  void Trim();
  // About. REQUIRES: Trim() after the last change.
  uint64_t memory_bytes() const;

  LedgerEpoch begin;
  PackedPairs held;   // bound before this pass, or not consumed
  PackedPairs shown;  // consumed in this pass, in order
  SampleSet unnamed;  // consumed without a name
  LedgerTally tally;
  std::set<uint64_t> containers;  // as in LedgerState
  LedgerEvidence evidence;
  // Also what a ledger has of the pass before.
  bool forgets_again = false;
  // `containers` replaces what a ledger has of this pass.
  bool containers_anew = false;
  uint32_t by_hand = 0;  // noted in this pass, besides that of `begin`

 private:
  bool held_twice_ = false;  // perhaps some of `held`, or of it and `shown`
};

// Returns whether two epochs of one view, perhaps on different nodes, show the
// same sample under each name. If names are bound on demand, returns whether
// they were so at the beginning.
bool SameBinding(const LedgerEpoch& a, const LedgerEpoch& b);

// Returns whether `next` repeats what `last`, the previous epoch of the same
// view, recorded. (The first version did not mark it; it always used another
// number.)
inline bool Supersedes(const LedgerEpoch& next, const LedgerEpoch& last) {
  return next.continues ||
         (next.view != last.view && next.epoch == last.epoch &&
          SameBinding(next, last));
}

// Encodes `record` for the end of `file` and appends it.
template <typename Record>
absl::Status AppendRecord(AppendLog& file, const Record& record) {
  ASSIGN_OR_RETURN(const ledger_format::Words words,
                   ledger_format::Encode(record, file.size()));
  return file.Append(words);
}
// The same for pairs that were bound before this pass, or not consumed.
absl::Status AppendBound(AppendLog& file, uint8_t view,
                         const PackedPairs& pairs);
// The same for a whole pass, with one bit per sample that was consumed without
// a name. All its records are one append: the file has the whole pass or
// nothing of it. REQUIRES: Trim() after its last change.
absl::Status AppendPass(AppendLog& file, const LedgerPass& pass);
// The same for a pass that `hold` began.
absl::Status AppendPass(AppendLog& file, const LedgerHold& hold,
                        const LedgerPass& pass);
// The same for the rest of a pass that the file has begun.
absl::Status AppendRest(AppendLog& file, const LedgerPass& pass);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_LEDGER_LEDGER_PASS_H_
