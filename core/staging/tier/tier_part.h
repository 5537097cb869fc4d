// SPDX-License-Identifier: Apache-2.0
// The bytes of a part file of the performance tier. It has some ranges of
// source files, usually whole files, and after them a table of their places and
// checksums.
//
//   ranges     each begins at a multiple of kReadAlignment; bytes between two
//              ranges have no meaning
//   table      FiledRange, then checksums, range by range; zeros up to a
//              multiple
//   footer     at the very end: describes the table, and has a checksum over
//              both
//
// It is no checked file (core/base/files/checked_file.h): ranges are written as
// they come, so what describes them is known only at the end.
//
// The parser treats a part as untrusted input: it may be cut off by a power
// cut, damaged, or made by somebody else. Parsing checks every count, offset
// and length; a part that passes is safe to use. The ranges' bytes are checked
// when they are read. No part is ever synced, because these checks find what a
// power cut lost.
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
// from its start. The last piece may be shorter.
inline constexpr uint64_t kTierCheckBytes = 128 * 1024;
inline constexpr uint64_t kTierPage = 4096;  // kReadAlignment
inline constexpr uint64_t kTierFooterBytes = 64;

constexpr uint64_t TierChecksOf(uint64_t length) {
  return length / kTierCheckBytes + (length % kTierCheckBytes != 0 ? 1 : 0);
}
// The room that a range's bytes take in a part.
constexpr uint64_t TierRoundUp(uint64_t bytes) {
  return (bytes + kTierPage - 1) / kTierPage * kTierPage;
}
// The bytes of the table and the footer of a part.
uint64_t TierTailBytes(uint64_t ranges, uint64_t checks);
// Appends the checks of the next bytes of a range. `bytes` begin at a multiple
// of kTierCheckBytes of the range.
void AppendTierChecks(absl::string_view bytes, std::vector<uint64_t>& checks);

struct TierTable {
  struct Placed {
    StagedRange range;    // of any catalogue; checked: its page and end
    uint64_t offset = 0;  // in the part; a multiple of kTierPage
  };
  uint64_t state = 0;            // Catalogue::state()
  std::vector<Placed> ranges;    // by offset; at least one; no two begin alike
  std::vector<uint64_t> checks;  // range by range
};

// The table and footer of a part whose ranges' bytes end at `data_bytes`, a
// multiple of kTierPage. Has TierTailBytes bytes. REQUIRES: ParseTierTail would
// accept `table`, and its ranges are inside.
std::string SerializeTierTail(const TierTable& table, uint64_t data_bytes);

// Returns where the tail of a part of `part_bytes` bytes begins. `footer` is
// its last kTierFooterBytes bytes. Errors: InvalidArgument if it is no footer
// of this version; DataLoss if it is impossible.
absl::StatusOr<uint64_t> TierTailAt(absl::string_view footer,
                                    uint64_t part_bytes);
// `tail` is everything from there on. Errors: the same; also DataLoss if the
// checksum differs or the table is inconsistent.
absl::StatusOr<TierTable> ParseTierTail(absl::string_view tail,
                                        uint64_t part_bytes);

// "part-00000000000000ff.tier", and for an unfinished part
// "part-00000000000000ff.new".
std::string TierPartName(uint64_t id);
std::string TierUnfinishedName(uint64_t id);
struct TierName {
  uint64_t id = 0;
  bool finished = false;
};
// Nothing if the name is not exactly one of these.
absl::optional<TierName> ParseTierName(absl::string_view name);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_TIER_TIER_PART_H_
