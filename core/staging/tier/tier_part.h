// SPDX-License-Identifier: Apache-2.0
// The bytes of a part file of the performance tier: some ranges of files of
// the source, whole files as a rule, and behind them a table of what lies
// where, with checksums.
//
//   ranges     each from a multiple of kReadAlignment on; what is between two
//              has no meaning
//   table      FiledRange, then checksums, range by range; zeros up to a
//              multiple
//   footer     at the very end: what the table is, and a checksum over both
//
// A part is input like any other: cut off by a power cut, damaged, or made by
// somebody else. Parsing checks every count, offset and length, and what passes
// is safe to use. The ranges' bytes are checked when they are read: no part is
// ever synced, because these checks find what a power cut lost.
#ifndef SHUFFLEFS_CORE_STAGING_TIER_TIER_PART_H_
#define SHUFFLEFS_CORE_STAGING_TIER_TIER_PART_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "core/staging/staging_plan.h"

namespace shufflefs {

// A range has one checksum (XXH3, 64 bits) for each piece of this many bytes
// from its start, the last of them shorter.
inline constexpr uint64_t kTierCheckBytes = 128 * 1024;
inline constexpr uint64_t kTierPage = 4096;  // kReadAlignment
inline constexpr uint64_t kTierFooterBytes = 64;

constexpr uint64_t TierChecksOf(uint64_t length) {
  return length / kTierCheckBytes + (length % kTierCheckBytes != 0 ? 1 : 0);
}
// What a range's bytes take of a part.
constexpr uint64_t TierRoundUp(uint64_t bytes) {
  return (bytes + kTierPage - 1) / kTierPage * kTierPage;
}
// What the table and the footer of a part take.
uint64_t TierTailBytes(uint64_t ranges, uint64_t checks);
// Appends the checks of a range whose next bytes are `bytes`, which begin at a
// multiple of kTierCheckBytes of it.
void AppendTierChecks(absl::string_view bytes, std::vector<uint64_t>& checks);

struct TierTable {
  struct Placed {
    StagedRange range;    // of any catalogue: only its page and sum are checked
    uint64_t offset = 0;  // in the part; a multiple of kTierPage
  };
  uint64_t state = 0;            // Catalogue::state()
  std::vector<Placed> ranges;    // by offset; at least one; no beginning twice
  std::vector<uint64_t> checks;  // range by range
};

// Table and footer for a part whose ranges' bytes end at `data_bytes`, a
// multiple of kTierPage; as long as TierTailBytes says. REQUIRES: `table` is
// as ParseTierTail gives them, its ranges within.
std::string SerializeTierTail(const TierTable& table, uint64_t data_bytes);

// Where the tail of a part of `part_bytes` bytes begins, by its last
// kTierFooterBytes bytes. Errors: InvalidArgument if it is none of this
// version; DataLoss where it cannot be.
absl::StatusOr<uint64_t> TierTailAt(absl::string_view footer,
                                    uint64_t part_bytes);
// `tail` is all from there on. Errors: the same; DataLoss too where the
// checksum differs or the table makes no sense.
absl::StatusOr<TierTable> ParseTierTail(absl::string_view tail,
                                        uint64_t part_bytes);

// "part-00000000000000ff.tier", and of one that is not finished
// "part-00000000000000ff.new".
std::string TierPartName(uint64_t id);
std::string TierUnfinishedName(uint64_t id);
struct TierName {
  uint64_t id = 0;
  bool finished = false;
};
// Nothing for a name that is not exactly one of these.
absl::optional<TierName> ParseTierName(absl::string_view name);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_TIER_TIER_PART_H_
