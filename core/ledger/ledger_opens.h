// SPDX-License-Identifier: Apache-2.0
// The ledger's record of opens in order. To open a name again consumes nothing,
// but it may be the first sign of the next epoch. A daemon that continues after
// a crash must know of it.
//
//   opens    a record: whether it replaces earlier ones, how many re-opens
//            before these are not listed, and one word per open: its kind in
//            bits 40-41, name or sample in 0-39. One that replaces earlier
//            ones by nothing also says that no re-open before it counts for the
//            next epoch
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
    kFirst,   // first of its name in the epoch; also recorded as consumed
    kAgain,   // counts for the next epoch
    kDouble,  // soon after another: no evidence about an epoch
  };
  Kind kind = Kind::kFirst;
  // The name. For a first open, the number under which it was consumed: the
  // sample, unless it was recorded with its name.
  uint64_t number = 0;
  friend bool operator==(const LedgerOpen&, const LedgerOpen&) = default;
};

struct LedgerOpens {
  bool anew = false;    // replaces all earlier records of the pass
  uint64_t untold = 0;  // earlier re-opens of which only the number is known
  std::vector<LedgerOpen> opens{};

  // They replace earlier records by nothing: whoever opened names again did not
  // open them for the next epoch.
  bool forget() const { return anew && untold == 0 && opens.empty(); }
};
inline LedgerOpens ForgottenOpens() { return {.anew = true}; }

// The last opens of a pass in order, as many as a new epoch may retain at most.
// Not thread-safe.
class RecentOpens {
 public:
  static constexpr size_t kKept = 8192;  // the last ones that are always kept

  void Add(const LedgerOpen& open);
  void Add(const LedgerOpens& opens);
  // Drops weak evidence: first opens long before any open of another kind.
  void Trim();
  // As a record that replaces earlier ones.
  const LedgerOpens& told() const { return told_; }
  bool empty() const { return told_.opens.empty() && told_.untold == 0; }

 private:
  LedgerOpens told_{.anew = true};
};

namespace ledger_format {

// InvalidArgument if it is too long.
absl::StatusOr<Words> EncodeOpens(uint8_t view, const LedgerOpens& opens,
                                  uint64_t at);
// Takes a record that CheckRecord accepted. DataLoss: fields that do not fit.
absl::StatusOr<LedgerOpens> DecodeOpens(absl::Span<const uint64_t> record);

}  // namespace ledger_format
}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_LEDGER_LEDGER_OPENS_H_
