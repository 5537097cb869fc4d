// SPDX-License-Identifier: Apache-2.0
#include "core/staging/tier/tier_ranges.h"

namespace shufflefs {

bool IsRangeOf(const Catalogue& catalogue, const StagedRange& range) {
  if (range.file.value() >= catalogue.entry_count() ||
      catalogue.kind(range.file) != EntryKind::kFile) {
    return false;
  }
  const uint64_t size = catalogue.file_size(range.file);
  if (range.length == 0 || range.from >= size ||
      range.length > size - range.from) {
    return false;
  }
  return range.from % kTierPage == 0 &&
         (range.end() % kTierPage == 0 || range.end() == size) &&
         range.from / kTierPage < kTierMostPages &&
         TierRoundUp(range.length) / kTierPage <= kTierMostPages;
}

StagedRange RangeOf(const Catalogue& catalogue, TierKey key, uint32_t pages) {
  StagedRange range{FileOf(key), FromOf(key), 0};
  range.length =
      std::min(pages * kTierPage, catalogue.file_size(range.file) - range.from);
  return range;
}

void TierRanges::Append(const StagedRange& range) {
  const auto add_pages = [this](const StagedRange& of) {
    pages_.push_back(
        {static_cast<uint32_t>(of.from / kTierPage),
         static_cast<uint32_t>(TierRoundUp(of.length) / kTierPage)});
  };
  const bool all_whole = pages_.empty();
  if (all_whole && !IsWholeFile(*catalogue_, range)) {
    // This is the first that is not a whole file. Adds the pages of those
    // before.
    for (const EntryId file : files_) add_pages(WholeFile(*catalogue_, file));
    add_pages(range);
  } else if (!all_whole) {
    add_pages(range);
  }
  files_.push_back(range.file);
}

StagedRange TierRanges::operator[](size_t at) const {
  if (pages_.empty()) return WholeFile(*catalogue_, files_[at]);
  return RangeOf(*catalogue_, TierKeyOf(files_[at], 0) + pages_[at].from,
                 pages_[at].count);
}

}  // namespace shufflefs
