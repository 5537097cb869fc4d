// SPDX-License-Identifier: Apache-2.0
// TierRanges is a list of ranges of files, as the tier keeps them. It preserves
// their order and takes little memory if they are whole files.
#ifndef SHUFFLEFS_CORE_STAGING_TIER_TIER_RANGES_H_
#define SHUFFLEFS_CORE_STAGING_TIER_TIER_RANGES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/base/types.h"
#include "core/catalogue/catalogue.h"
#include "core/staging/staging_plan.h"
#include "core/staging/tier/tier_part.h"

namespace shufflefs {

// Where a range begins, as one number: ordered by file, then by page.
using TierKey = uint64_t;

constexpr uint64_t kTierMostPages = std::numeric_limits<uint32_t>::max();

// No range begins after page kTierMostPages. For later positions the result is
// the key of that page.
inline TierKey TierKeyOf(EntryId file, uint64_t at) {
  return uint64_t{file.value()} << 32 |
         std::min(at / kTierPage, kTierMostPages);
}
inline EntryId FileOf(TierKey key) {
  return EntryId(static_cast<uint32_t>(key >> 32));
}
inline uint64_t FromOf(TierKey key) {
  return (key & kTierMostPages) * kTierPage;
}

// Returns whether `range` is a range of a file of `catalogue` and has whole
// pages, except at the file's end. A range of a file beyond 16 TiB must begin
// before that.
bool IsRangeOf(const Catalogue& catalogue, const StagedRange& range);
// REQUIRES: IsRangeOf is true for the result.
StagedRange RangeOf(const Catalogue& catalogue, TierKey key, uint32_t pages);

inline StagedRange WholeFile(const Catalogue& catalogue, EntryId file) {
  return {file, 0, catalogue.file_size(file)};
}
inline bool IsWholeFile(const Catalogue& catalogue, const StagedRange& range) {
  return range.from == 0 && range.length == catalogue.file_size(range.file);
}

// What TierStore or TierBatches has of a file at one position.
struct TierCover {
  // The end of the range that holds the position, possibly rounded up to the
  // end of its page. 0: no range holds it.
  uint64_t to = 0;
  // The beginning of the next range after the position.
  uint64_t next = std::numeric_limits<uint64_t>::max();
};

// A list of ranges. It takes four bytes per range while all are whole files, as
// in most datasets, of which a list may have millions; else twelve. Not
// thread-safe. The catalogue outlives it.
class TierRanges {
 public:
  explicit TierRanges(const Catalogue& catalogue) : catalogue_(&catalogue) {}

  // REQUIRES: IsRangeOf.
  void Append(const StagedRange& range);
  size_t size() const { return files_.size(); }
  bool empty() const { return files_.empty(); }
  StagedRange operator[](size_t at) const;

 private:
  struct Pages {
    uint32_t from = 0;
    uint32_t count = 0;
  };
  const Catalogue* catalogue_;
  std::vector<EntryId> files_;
  std::vector<Pages> pages_;  // by range; empty: all are whole files
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_TIER_TIER_RANGES_H_
