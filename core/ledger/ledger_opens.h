// SPDX-License-Identifier: Apache-2.0
// The ledger's record of opens in their order. A name that is opened again
// consumes nothing, but it may be the first sign of the next epoch: whoever
// goes on after a crash must know of it.
//
//   opens    a record: whether it is told anew, how many re-opens before these
//            are not told, and a word an open: its kind in bits 40-41, name or
//            sample in 0-39
#ifndef SHUFFLEFS_CORE_LEDGER_LEDGER_OPENS_H_
#define SHUFFLEFS_CORE_LEDGER_LEDGER_OPENS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/ledger/ledger_format.h"

namespace shufflefs {

struct LedgerOpen {
  enum class Kind : uint8_t {
    kFirst,   // of its name in the epoch, so it is recorded as consumed, too
    kAgain,   // counts for the next epoch
    kDouble,  // soon after another: says nothing of an epoch
  };
  Kind kind = Kind::kFirst;
  uint64_t number = 0;  // the name; of a first open as it was consumed: the
                        // sample, unless that was told with its name
  friend bool operator==(const LedgerOpen&, const LedgerOpen&) = default;
};

struct LedgerOpens {
  bool anew = false;    // in the place of all that were told of the pass
  uint64_t untold = 0;  // re-opens before these, of which only this is known
  std::vector<LedgerOpen> opens{};
};

// The last opens of a pass in their order, as many as a new epoch may carry at
// most. Not thread-safe.
class RecentOpens {
 public:
  static constexpr size_t kKept = 8192;  // at least, once there are so many

  void Add(const LedgerOpen& open);
  void Add(const LedgerOpens& opens);
  // Gives up what tells little: first opens long before any other kind.
  void Trim();
  // Told anew.
  const LedgerOpens& told() const { return told_; }
  bool empty() const { return told_.opens.empty() && told_.untold == 0; }

 private:
  LedgerOpens told_{.anew = true};
};

namespace ledger_format {

// InvalidArgument if it is too long.
absl::StatusOr<Words> EncodeOpens(uint8_t view, const LedgerOpens& opens,
                                  uint64_t at);
// From a record that CheckRecord passed. DataLoss: fields that do not fit.
absl::StatusOr<LedgerOpens> DecodeOpens(absl::Span<const uint64_t> record);

}  // namespace ledger_format
}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_LEDGER_LEDGER_OPENS_H_
