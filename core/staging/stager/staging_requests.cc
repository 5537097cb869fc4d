// SPDX-License-Identifier: Apache-2.0
#include "core/staging/stager/staging_requests.h"

#include <algorithm>
#include <utility>

namespace shufflefs {
namespace {

std::shared_ptr<const TierRanges> RangesOf(const Catalogue& catalogue,
                                           const StagingPlan& plan,
                                           uint64_t set) {
  auto ranges = std::make_shared<TierRanges>(catalogue);
  for (const StagedRange& range : plan.RangesOf(set)) {
    if (IsRangeOf(catalogue, range)) ranges->Append(range);
  }
  return ranges;
}

}  // namespace

StagingRequests::StagingRequests(const Catalogue& catalogue,
                                 const StagingPlan& plan,
                                 const std::vector<uint64_t>& sets,
                                 const StagingRequests* before)
    : catalogue_(&catalogue),
      read_now_(plan.ReadNow()),
      wanted_(catalogue.entry_count()),
      first_(catalogue.entry_count()) {
  for (const uint64_t number : sets) {
    Set set;
    set.number = number;
    if (before != nullptr) {
      for (const Set& known : before->sets_) {
        if (known.number == number) set.ranges = known.ranges;
      }
    }
    if (set.ranges == nullptr) set.ranges = RangesOf(catalogue, plan, number);
    for (size_t i = 0; i < set.ranges->size(); ++i) {
      Add((*set.ranges)[i], sets_.size() < read_now_);
    }
    sets_.push_back(std::move(set));
  }
  Sort();
}

void StagingRequests::Add(const StagedRange& range, bool first) {
  if (IsWholeFile(*catalogue_, range)) {
    wanted_[range.file.value()] = true;
    if (first) first_[range.file.value()] = true;
    return;
  }
  pieces_.push_back(
      {TierKeyOf(range.file, range.from),
       static_cast<uint32_t>(TierRoundUp(range.length) / kTierPage), first});
}

// A range in two sets becomes one request. It is read now if one of the sets
// is.
void StagingRequests::Sort() {
  std::sort(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) {
    if (a.key != b.key) return a.key < b.key;
    return a.pages != b.pages ? a.pages < b.pages : a.first > b.first;
  });
  const auto end = std::unique(pieces_.begin(), pieces_.end(),
                               [](const Piece& a, const Piece& b) {
                                 return a.key == b.key && a.pages == b.pages;
                               });
  pieces_.erase(end, pieces_.end());
  pieces_.shrink_to_fit();
}

std::vector<uint64_t> StagingRequests::numbers() const {
  std::vector<uint64_t> numbers;
  for (const Set& set : sets_) numbers.push_back(set.number);
  return numbers;
}

std::vector<StagingRequests::Piece>::const_iterator StagingRequests::FirstFrom(
    EntryId file, uint64_t from) const {
  return std::lower_bound(
      pieces_.begin(), pieces_.end(), TierKeyOf(file, TierRoundUp(from)),
      [](const Piece& piece, TierKey key) { return piece.key < key; });
}

bool StagingRequests::wants(const StagedRange& range) const {
  if (IsWholeFile(*catalogue_, range)) return wanted_[range.file.value()];
  const TierKey key = TierKeyOf(range.file, range.from);
  const uint64_t pages = TierRoundUp(range.length) / kTierPage;
  for (auto at = FirstFrom(range.file, range.from);
       at != pieces_.end() && at->key == key; ++at) {
    if (at->pages == pages) return true;
  }
  return false;
}

TierStore::Wanted StagingRequests::WantedIn(const StagedRange& range) const {
  const uint64_t most = TierRoundUp(range.length);
  if (IsWholeFile(*catalogue_, range) && wanted_[range.file.value()]) {
    return {first_[range.file.value()] ? most : 0, most};
  }
  TierStore::Wanted wanted;
  for (auto at = FirstFrom(range.file, range.from);
       at != pieces_.end() && FileOf(at->key) == range.file &&
       FromOf(at->key) < range.end();
       ++at) {
    const uint64_t bytes = at->pages * kTierPage;
    if (FromOf(at->key) + bytes > TierRoundUp(range.end())) continue;
    wanted.any += bytes;
    if (at->first) wanted.first += bytes;
  }
  // Pages that two ranges share are stored once.
  return {std::min(wanted.first, most), std::min(wanted.any, most)};
}

absl::optional<StagedRange> StagingRequests::Next(EntryId file,
                                                  uint64_t from) const {
  if (file.value() >= wanted_.size()) return absl::nullopt;
  if (from == 0 && wanted_[file.value()]) return WholeFile(*catalogue_, file);
  const auto at = FirstFrom(file, from);
  if (at == pieces_.end() || FileOf(at->key) != file) return absl::nullopt;
  return RangeOf(*catalogue_, at->key, at->pages);
}

std::vector<StagedRange> StagingRequests::PiecesOver(EntryId file,
                                                     uint64_t from,
                                                     uint64_t to) const {
  std::vector<StagedRange> over;
  auto at = FirstFrom(file, from);
  // Of the ranges that begin earlier, two may share this page.
  for (int back = 0; back < 2 && at != pieces_.begin(); ++back) --at;
  for (; at != pieces_.end() && at->key < TierKeyOf(file, TierRoundUp(to));
       ++at) {
    if (FileOf(at->key) != file) continue;
    const StagedRange range = RangeOf(*catalogue_, at->key, at->pages);
    if (range.end() > from && range.from < to) over.push_back(range);
  }
  return over;
}

}  // namespace shufflefs
