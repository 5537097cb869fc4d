// SPDX-License-Identifier: Apache-2.0
// The ledger's records of names that no plan gives a sample. A reactive policy
// binds them at run time, so each pair is written.
//
//   shown    3 words: a record's first with bits 0-15 of the name in its own;
//            bits 16-39 of the name in 40-63 and the sample in 0-39; the hash
//   set      a record of up to kMaxSetPairs pairs: whether they were consumed
//            in this pass, how many, bits per number, PackedPairs::words()
#ifndef SHUFFLEFS_CORE_LEDGER_LEDGER_PAIRS_H_
#define SHUFFLEFS_CORE_LEDGER_LEDGER_PAIRS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/ledger/ledger_format.h"
#include "core/ledger/packed_pairs.h"
#include "core/policy/retained_bindings.h"

namespace shufflefs::ledger_format {

inline constexpr uint64_t kMaxSetPairs = uint64_t{1} << 16;

// Ready to be stored at word number `at`. REQUIRES: view < kMaxLedgerViews;
// name and sample < kMaxLedgerNames.
std::array<uint64_t, 3> ShownRecord(uint8_t view, const NameBinding& pair,
                                    uint64_t at);
// Takes a record that CheckRecord accepted. DataLoss: another length.
absl::StatusOr<NameBinding> DecodeShown(absl::Span<const uint64_t> record);

struct PairSet {
  bool consumed = false;  // in this pass; else only bound, or before it
  PackedPairs pairs;
};
// InvalidArgument: more than kMaxSetPairs.
absl::StatusOr<Words> EncodePairSet(uint8_t view, const PairSet& set,
                                    uint64_t at);
// Takes a record that CheckRecord accepted. DataLoss: fields that do not fit.
absl::StatusOr<PairSet> DecodePairSet(absl::Span<const uint64_t> record);

}  // namespace shufflefs::ledger_format

#endif  // SHUFFLEFS_CORE_LEDGER_LEDGER_PAIRS_H_
