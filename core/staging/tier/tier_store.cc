// SPDX-License-Identifier: Apache-2.0
#include "core/staging/tier/tier_store.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace shufflefs {

std::shared_ptr<const StagedPart> StagedPart::Of(uint64_t id, uint64_t bytes,
                                                 const TierTable& table,
                                                 const Catalogue& catalogue) {
  if (table.state != catalogue.state()) return nullptr;
  if (table.checks.size() > std::numeric_limits<uint32_t>::max() ||
      bytes / kTierPage > std::numeric_limits<uint32_t>::max()) {
    return nullptr;
  }
  auto part = std::make_shared<StagedPart>();
  part->id = id;
  part->bytes = bytes;
  part->checks = table.checks;
  part->ranges.reserve(table.ranges.size());
  uint32_t check = 0;
  for (const auto& [range, offset] : table.ranges) {
    if (!IsRangeOf(catalogue, range)) return nullptr;
    part->ranges.push_back(
        {TierKeyOf(range.file, range.from),
         static_cast<uint32_t>(TierRoundUp(range.length) / kTierPage),
         static_cast<uint32_t>(offset / kTierPage), check});
    check += static_cast<uint32_t>(TierChecksOf(range.length));
  }
  std::sort(part->ranges.begin(), part->ranges.end(),
            [](const Placed& a, const Placed& b) { return a.key < b.key; });
  return part;
}

const StagedPart::Placed* StagedPart::Find(TierKey key) const {
  const auto found = std::lower_bound(
      ranges.begin(), ranges.end(), key,
      [](const Placed& placed, TierKey wanted) { return placed.key < wanted; });
  return found != ranges.end() && found->key == key ? &*found : nullptr;
}

std::vector<uint64_t> PartsToRemove(std::vector<PartUse> parts,
                                    RoomWanted room) {
  std::vector<uint64_t> removed;
  uint64_t used = 0;
  // In this order: what is removed affects what follows.
  const auto remove_if = [&](const auto& unwanted) {
    std::vector<PartUse> kept;
    for (const PartUse& part : parts) {
      if (unwanted(part)) {
        removed.push_back(part.id);
      } else {
        kept.push_back(part);
      }
    }
    parts = std::move(kept);
  };
  // Tables and the ends of batches take some room too.
  const auto need = [](uint64_t bytes) { return bytes + bytes / 32; };
  uint64_t kept = need(room.missing);
  for (const PartUse& part : parts) {
    if (part.wanted > 0) kept += part.bytes;
  }
  const uint64_t most_kept = room.keep ? room.capacity / 4 * 3 : 0;
  // The latest ones have the largest numbers.
  std::sort(parts.begin(), parts.end(),
            [](const PartUse& a, const PartUse& b) { return a.id > b.id; });
  remove_if([&](const PartUse& part) {
    if (part.wanted > 0) return false;
    kept += part.bytes;
    return kept > most_kept;
  });
  for (const PartUse& part : parts) used += part.bytes;
  // Removes the parts with the least `share`, until `missing` fits.
  const auto make_room = [&](uint64_t missing, uint64_t PartUse::*share) {
    std::sort(parts.begin(), parts.end(),
              [share](const PartUse& a, const PartUse& b) {
                return a.*share < b.*share;
              });
    uint64_t given = 0;  // the wanted bytes of the removed parts
    remove_if([&](const PartUse& part) {
      if (missing == 0 || used + need(missing) <= room.capacity ||
          part.*share > part.bytes / 2) {
        return false;
      }
      used -= part.bytes;
      missing += part.*share;
      given += part.wanted;
      return true;
    });
    return given;
  };
  room.missing += make_room(room.missing_first, &PartUse::first);
  make_room(room.missing, &PartUse::wanted);
  return removed;
}

uint64_t TierStore::PagesEnd(Where::const_iterator at) {
  return FromOf(at->first) + at->second->Find(at->first)->pages * kTierPage;
}

TierStore::Where::const_iterator TierStore::Holder(EntryId file,
                                                   uint64_t at) const {
  auto found = where_.upper_bound(TierKeyOf(file, at));
  if (found == where_.begin()) return where_.end();
  --found;
  if (FileOf(found->first) != file || PagesEnd(found) <= at) {
    return where_.end();
  }
  return found;
}

absl::optional<TierPlace> TierStore::Find(EntryId file, uint64_t at) const {
  TierPlace place;
  TierKey key = 0;
  {
    MutexLock lock(mu_);
    const auto holder = Holder(file, at);
    if (holder == where_.end()) return absl::nullopt;
    key = holder->first;
    place.part = parts_.at(holder->second->id);
  }
  const StagedPart::Placed& placed = *place.part->Find(key);
  place.range = RangeOf(*catalogue_, key, placed.pages);
  place.offset = uint64_t{placed.page} * kTierPage;
  place.checks =
      absl::MakeSpan(place.part->checks)
          .subspan(placed.first_check, TierChecksOf(place.range.length));
  return place;
}

TierCover TierStore::Around(EntryId file, uint64_t at) const {
  TierCover cover;
  MutexLock lock(mu_);
  const auto holder = Holder(file, at);
  if (holder != where_.end()) cover.to = PagesEnd(holder);
  const auto next = where_.upper_bound(TierKeyOf(file, at));
  if (next != where_.end() && FileOf(next->first) == file) {
    cover.next = FromOf(next->first);
  }
  return cover;
}

bool TierStore::Has(const StagedRange& range) const {
  MutexLock lock(mu_);
  const auto holder = Holder(range.file, range.from);
  return holder != where_.end() && PagesEnd(holder) >= range.end();
}

uint64_t TierStore::bytes() const {
  MutexLock lock(mu_);
  return bytes_;
}

void TierStore::Add(std::shared_ptr<const StagedPart> part) {
  MutexLock lock(mu_);
  bytes_ += part->bytes;
  for (const StagedPart::Placed& placed : part->ranges) AddOne(*part, placed);
  const uint64_t id = part->id;
  parts_.emplace(id, std::move(part));
}

void TierStore::AddOne(const StagedPart& part,
                       const StagedPart::Placed& placed) {
  const StagedRange range = RangeOf(*catalogue_, placed.key, placed.pages);
  const auto holder = Holder(range.file, range.from);
  if (holder != where_.end() && PagesEnd(holder) >= range.end()) return;
  auto inner = where_.lower_bound(placed.key);
  while (inner != where_.end() && FileOf(inner->first) == range.file &&
         PagesEnd(inner) <= TierRoundUp(range.end())) {
    inner = where_.erase(inner);
  }
  where_.emplace(placed.key, &part);
}

bool TierStore::Forget(const StagedRange& range, uint64_t part) {
  MutexLock lock(mu_);
  const auto found = where_.find(TierKeyOf(range.file, range.from));
  if (found == where_.end() || found->second->id != part) return false;
  where_.erase(found);
  return true;
}

bool TierStore::Remove(uint64_t part) {
  MutexLock lock(mu_);
  const auto found = parts_.find(part);
  if (found == parts_.end()) return false;
  for (const StagedPart::Placed& placed : found->second->ranges) {
    const auto place = where_.find(placed.key);
    if (place != where_.end() && place->second == found->second.get()) {
      where_.erase(place);
    }
  }
  bytes_ -= found->second->bytes;
  parts_.erase(found);
  return true;
}

void TierStore::Clear() {
  MutexLock lock(mu_);
  where_.clear();
  parts_.clear();
  bytes_ = 0;
}

std::vector<std::shared_ptr<const StagedPart>> TierStore::Parts() const {
  std::vector<std::shared_ptr<const StagedPart>> parts;
  MutexLock lock(mu_);
  for (const auto& [id, part] : parts_) parts.push_back(part);
  return parts;
}

std::vector<PartUse> TierStore::Uses(
    const std::function<Wanted(const StagedRange&)>& wanted) const {
  std::vector<PartUse> uses;
  for (const auto& part : Parts()) {
    PartUse use;
    use.id = part->id;
    use.bytes = part->bytes;
    MutexLock lock(mu_);  // one part at a time, so that readers can ask
    for (const StagedPart::Placed& placed : part->ranges) {
      const auto place = where_.find(placed.key);
      if (place == where_.end() || place->second != part.get()) continue;
      const Wanted of = wanted(RangeOf(*catalogue_, placed.key, placed.pages));
      use.wanted += of.any;
      use.first += of.first;
    }
    uses.push_back(use);
  }
  return uses;
}

}  // namespace shufflefs
