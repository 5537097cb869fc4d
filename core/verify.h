// SPDX-License-Identifier: Apache-2.0
// Proves from the ledger what was promised (design 3.10): in each epoch names
// and samples are in a bijection, and no sample was consumed twice.
//
// Blocks for as long as reading the ledger and computing its bindings takes:
// some 0.2 us a name and binding. Stateless; any thread may call.
#ifndef SHUFFLEFS_CORE_VERIFY_H_
#define SHUFFLEFS_CORE_VERIFY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/binding.h"
#include "core/ledger_format.h"
#include "core/types.h"

namespace shufflefs {

// One pass over a view, as the ledger tells it.
struct EpochProof {
  LedgerEpoch begin;      // `epoch` counts held boundaries too
  bool running = false;   // the last of its view
  uint64_t consumed = 0;  // different samples
  uint64_t twice = 0;     // consumptions of a sample beyond its first
  std::vector<std::string> switches;  // of keys, with which it began
  // OK: proven. FailedPrecondition: cannot be replayed, and why. DataLoss: is
  // no bijection, and where.
  absl::Status bijection;

  bool complete() const { return consumed == begin.names; }
  // Whether anything contradicts the promises.
  bool broken() const {
    return twice > 0 || consumed > begin.names ||
           absl::IsDataLoss(bijection);
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

  bool broken() const;
};

// Replays the ledger at `path`; a daemon may be writing to it. Errors: the
// file's errno; FailedPrecondition if it is no ledger of this version.
absl::StatusOr<LedgerProof> VerifyLedger(const std::string& path,
                                         const BindingMaker& make_binding);

// Whether every name shows another sample of its own group and both
// directions agree. DataLoss names the first name that does not.
absl::Status ProveBijection(const Binding& binding);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_VERIFY_H_
