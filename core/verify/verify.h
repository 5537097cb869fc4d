// SPDX-License-Identifier: Apache-2.0
// Proves the promises of shufflefs from the ledger: in each epoch names and
// samples are in a bijection, and no sample was consumed twice.
//
// No plan gives the binding of a reactive epoch, so that is proven from the
// recorded pairs. The proof also says how well each epoch was mixed.
//
// Blocks while it reads the ledger and computes the bindings: about 0.2 us per
// name and binding. Stateless; any thread may call.
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
#include "core/policy/retained_bindings.h"
#include "core/quality/epoch_memory.h"
#include "core/quality/shuffle_quality.h"

namespace shufflefs {

// One pass over a view, as the ledger records it.
struct EpochProof {
  LedgerEpoch begin;      // `epoch` includes held boundaries
  bool running = false;   // the last pass of its view
  uint64_t consumed = 0;  // different samples
  uint64_t twice = 0;     // consumptions of a sample beyond its first
  uint64_t unnamed = 0;   // consumptions whose name was not recorded
  // Names that were opened after the epoch before had ended, but that this one
  // rebound all the same. Readers that opened them missed samples.
  uint64_t bound_anew = 0;
  std::vector<std::string> switches;  // changes of keys, with which it began
  // OK: proven. For a reactive epoch: proven from its pairs, as far as it was
  // read. FailedPrecondition: cannot be replayed, and why. DataLoss: is no
  // bijection, and where.
  absl::Status bijection;

  // If an epoch may show a sample several times or not at all: how often the
  // samples were shown in all epochs up to this one, minimum and maximum.
  struct Times {
    uint64_t fewest = 0;
    uint64_t most = 0;
  };
  absl::optional<Times> times;

  // The path of the first sample that a reactive epoch did not show, and the
  // first name that was not read in it. "" if there is none, or if the dataset
  // has changed.
  std::string not_shown;
  std::string not_read;
  // For the current reactive epoch: what names show, as in LedgerState::bound.
  std::vector<NameBinding> bound;

  // How well the samples were mixed; their groups are the labels. Measures the
  // plan's order. For a reactive epoch, measures the order of consumption, if
  // it has at least two batches. Compared with the view's previous pass if that
  // is of the same kind and not another hold of the same plan. Empty if the
  // order is the source's or cannot be replayed.
  absl::optional<QualityReport> quality;
  bool quality_compared = false;  // compared with an earlier pass

  bool complete() const { return consumed == begin.names; }
  // Returns whether it ended with names that nobody opened. A reader that still
  // read them, through a mapping from an earlier epoch, saw that epoch's
  // samples.
  bool in_part() const { return !running && consumed > 0 && !complete(); }
  // Returns whether anything contradicts the promises.
  bool broken() const {
    return twice > 0 || bound_anew > 0 || consumed > begin.names ||
           (begin.reactive && unnamed > 0) || absl::IsDataLoss(bijection);
  }
};

// Makes the binding of a record again. FailedPrecondition if the dataset or the
// configuration has changed.
using BindingMaker =
    std::function<absl::StatusOr<std::shared_ptr<const Binding>>(
        const LedgerEpoch& epoch)>;

struct LedgerProof {
  std::vector<EpochProof> epochs;  // in the order in which they began
  // DataLoss if the ledger is damaged: nothing after the damage is proven.
  absl::Status ledger;
  // By view path: how much the orders of consecutive epochs, as
  // EpochProof::quality measures them, have in common. Covers the epochs since
  // the last change of the dataset or a key.
  std::map<std::string, EpochMemory> memory;

  bool broken() const;
};

// Replays the ledger at `place`. A daemon may be writing to it. Errors: the
// file's errno; FailedPrecondition if it is no ledger of this version.
absl::StatusOr<LedgerProof> VerifyLedger(const FilePlace& place,
                                         const BindingMaker& make_binding);

// Checks that every name shows a sample of its own group, that no two show the
// same, and that both directions agree. DataLoss names the first name that
// fails.
absl::Status ProveBijection(const Binding& binding);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_VERIFY_VERIFY_H_
