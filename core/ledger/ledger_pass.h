// SPDX-License-Identifier: Apache-2.0
// One pass over a view as a ledger keeps it, and as it gives it back.
#ifndef SHUFFLEFS_CORE_LEDGER_LEDGER_PASS_H_
#define SHUFFLEFS_CORE_LEDGER_LEDGER_PASS_H_

#include <vector>

#include "absl/status/status.h"
#include "core/base/files/word_file.h"
#include "core/base/status.h"
#include "core/ledger/ledger_format.h"
#include "core/ledger/ledger_opens.h"
#include "core/ledger/packed_pairs.h"
#include "core/ledger/sample_set.h"
#include "core/policy/carried.h"

namespace shufflefs {

// One epoch of a view: how it began and what was consumed in it.
struct LedgerState {
  LedgerEpoch begin;  // `epoch` is counted on by holds, `binding` is not
  SampleSet consumed;
  // Of a reactive epoch, every pair it is bound to as far as is known, also
  // those of `begin.carried` and those of before a hold: first those not
  // consumed in this pass, then those consumed, in their order. As they were
  // recorded: CarriedNames::Make says whether they are one to one.
  std::vector<CarriedPair> bound;
  uint64_t bound_consumed = 0;  // the last of them, that were consumed
  LedgerOpens recent;  // the last opens in their order
};

// The same with each pair packed, and once.
struct LedgerPass {
  explicit LedgerPass(LedgerEpoch epoch)
      : begin(std::move(epoch)), held(begin.names), shown(begin.names) {}
  explicit LedgerPass(const LedgerState& state);

  // The pass that a hold begins: nothing consumed, bound as this one.
  LedgerPass Held(const LedgerHold& hold) const;
  LedgerState State() const;  // REQUIRES: Trim() after the last change
  // Gives back memory that only filling needed.
  void Trim();

  LedgerEpoch begin;
  PackedPairs held;   // bound before this pass, or not consumed
  PackedPairs shown;  // consumed in this pass, in their order
  SampleSet unnamed;  // consumed without a name
  RecentOpens recent;
};

// Whether `next` tells again what `last`, the epoch of the same view before
// it, told. (The first version did not mark it; it was always under another
// number.)
inline bool Supersedes(const LedgerEpoch& next, const LedgerEpoch& last) {
  return next.continues || (next.view != last.view && next.epoch == last.epoch);
}

// Encodes `record` for the end of `file` and appends it.
template <typename Record>
absl::Status AppendRecord(WordFile& file, const Record& record) {
  ASSIGN_OR_RETURN(const ledger_format::Words words,
                   ledger_format::Encode(record, file.size()));
  return file.Append(words);
}
// The same for pairs that were bound, and maybe consumed.
absl::Status AppendPairs(WordFile& file, uint8_t view, bool consumed,
                         const PackedPairs& pairs);
// The same for a whole pass, a bit a sample consumed without a name.
// REQUIRES: Trim() after its last change.
absl::Status AppendPass(WordFile& file, const LedgerPass& pass);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_LEDGER_LEDGER_PASS_H_
