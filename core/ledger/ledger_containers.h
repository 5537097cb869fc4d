// SPDX-License-Identifier: Apache-2.0
// The record of containers that a pass has read to the end, and of why no pass
// over a view's containers ends by itself.
#ifndef SHUFFLEFS_CORE_LEDGER_LEDGER_CONTAINERS_H_
#define SHUFFLEFS_CORE_LEDGER_LEDGER_CONTAINERS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/types.h"
#include "core/ledger/ledger_format.h"

namespace shufflefs {

// Containers that were delivered completely. A record may come after the next
// epoch has begun, because readers end when they like. So it says of which
// epoch it is.
struct LedgerContainers {
  Epoch binding{0};             // as LedgerEpoch::binding
  std::vector<uint64_t> files;  // entries of the catalogue, below 2^32
  // Of the view, in any epoch: bits to add to LedgerEpoch::by_hand.
  uint32_t by_hand = 0;
  // `files` replaces what earlier records of the pass say.
  bool anew = false;
};

namespace ledger_format {

// InvalidArgument if it is too long.
absl::StatusOr<Words> EncodeContainers(uint8_t view,
                                       const LedgerContainers& containers,
                                       uint64_t at);
// Takes a record that CheckRecord accepted. DataLoss: fields that do not fit.
absl::StatusOr<LedgerContainers> DecodeContainers(
    absl::Span<const uint64_t> record);

}  // namespace ledger_format
}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_LEDGER_LEDGER_CONTAINERS_H_
