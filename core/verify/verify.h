// SPDX-License-Identifier: Apache-2.0
// Proves from the ledger what was promised: in each epoch names
// and samples are in a bijection, and no sample was consumed twice.
//
// What no plan gives, the binding of a reactive epoch, is proven from the
// pairs that were recorded. Says, too, how well each epoch was mixed.
//
// Blocks for as long as reading the ledger and computing its bindings takes:
// some 0.2 us a name and binding. Stateless; any thread may call.
#ifndef SHUFFLEFS_CORE_VERIFY_VERIFY_H_
#define SHUFFLEFS_CORE_VERIFY_VERIFY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "core/base/files/owned_dir.h"
#include "core/base/types.h"
#include "core/binding/binding.h"
#include "core/ledger/ledger_format.h"
#include "core/policy/carried.h"
#include "core/quality/epoch_memory.h"
#include "core/quality/mixing.h"

namespace shufflefs {

// One pass over a view, as the ledger tells it.
struct EpochProof {
  LedgerEpoch begin;      // `epoch` counts held boundaries too
  bool running = false;   // the last of its view
  uint64_t consumed = 0;  // different samples
  uint64_t twice = 0;     // consumptions of a sample beyond its first
  uint64_t unnamed = 0;   // consumptions whose name was not recorded
  // Names that were opened when the epoch before had ended and that this one
  // bound anew all the same: whoever had opened them missed samples.
  uint64_t bound_anew = 0;
  std::vector<std::string> switches;  // of keys, with which it began
  // OK: proven; of a reactive epoch from its pairs, as far as it was read.
  // FailedPrecondition: cannot be replayed, and why. DataLoss: is no
  // bijection, and where.
  absl::Status bijection;

  // Where an epoch may show a sample several times or not at all: how often
  // each was shown in all epochs up to this one, the fewest and the most.
  struct Times {
    uint64_t fewest = 0;
    uint64_t most = 0;
  };
  absl::optional<Times> times;

  // The first sample, by its path, that a reactive epoch did not show and the
  // first name that was not read in it; "" if there is none, or if the
  // dataset is another one now.
  std::string not_shown;
  std::string not_read;
  // Of the running reactive epoch: what names show, as LedgerState::bound.
  std::vector<CarriedPair> bound;

  // How the samples were mixed, labels being their groups. Of a reactive epoch
  // the order in which they were consumed, from two batches on; else the
  // plan's order. Compared with the view's pass before it if that is of the
  // same kind and no hold of the same plan. Nothing where the order is the
  // source's or cannot be replayed.
  absl::optional<MixingReport> mixing;
  bool mixing_compared = false;  // with a pass before

  bool complete() const { return consumed == begin.names; }
  // Whether it has ended with names that nobody opened: who read them all the
  // same, by a mapping of an epoch before, was shown that epoch's samples.
  bool in_part() const { return !running && consumed > 0 && !complete(); }
  // Whether anything contradicts the promises.
  bool broken() const {
    return twice > 0 || bound_anew > 0 || consumed > begin.names ||
           (begin.reactive && unnamed > 0) || absl::IsDataLoss(bijection);
  }
};

// Makes the binding that a record tells of again. FailedPrecondition where
// the dataset or the configuration is another one now.
using BindingMaker =
    std::function<absl::StatusOr<std::shared_ptr<const Binding>>(
        const LedgerEpoch& epoch)>;

struct LedgerProof {
  std::vector<EpochProof> epochs;  // in the order in which they began
  // DataLoss where the ledger is damaged: what lies behind is not proven.
  absl::Status ledger;
  // By view path: what the orders of consecutive epochs, as EpochProof::mixing
  // measures them, have in common. Since the dataset or a key was changed last.
  std::map<std::string, EpochMemory> memory;

  bool broken() const;
};

// Replays the ledger at `place`; a daemon may be writing to it. Errors: the
// file's errno; FailedPrecondition if it is no ledger of this version.
absl::StatusOr<LedgerProof> VerifyLedger(const FilePlace& place,
                                         const BindingMaker& make_binding);

// Whether every name shows another sample of its own group and both
// directions agree. DataLoss names the first name that does not.
absl::Status ProveBijection(const Binding& binding);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_VERIFY_VERIFY_H_
