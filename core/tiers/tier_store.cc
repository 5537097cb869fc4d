// SPDX-License-Identifier: Apache-2.0
#include "core/tiers/tier_store.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace shufflefs {

std::shared_ptr<const StagedPart> StagedPart::Of(uint64_t id, uint64_t bytes,
                                                 const TierTable& table,
                                                 const Catalogue& catalogue) {
  if (table.fingerprint != catalogue.fingerprint()) return nullptr;
  if (table.checks.size() > std::numeric_limits<uint32_t>::max() ||
      bytes / kTierPage > std::numeric_limits<uint32_t>::max()) {
    return nullptr;
  }
  auto part = std::make_shared<StagedPart>();
  part->id = id;
  part->bytes = bytes;
  part->checks = table.checks;
  part->files.reserve(table.files.size());
  uint32_t check = 0;
  for (const TierTable::File& file : table.files) {
    if (file.entry.value() >= catalogue.entry_count() ||
        catalogue.kind(file.entry) != EntryKind::kFile ||
        catalogue.attributes(file.entry).size != file.length) {
      return nullptr;
    }
    part->files.push_back(
        {file.entry, static_cast<uint32_t>(file.offset / kTierPage), check});
    check += static_cast<uint32_t>(TierChecksOf(file.length));
  }
  std::sort(part->files.begin(), part->files.end(),
            [](const File& a, const File& b) { return a.entry < b.entry; });
  return part;
}

const StagedPart::File* StagedPart::Find(EntryId entry) const {
  const auto found = std::lower_bound(
      files.begin(), files.end(), entry,
      [](const File& file, EntryId wanted) { return file.entry < wanted; });
  return found != files.end() && found->entry == entry ? &*found : nullptr;
}

std::vector<uint64_t> PartsToRemove(std::vector<PartUse> parts,
                                    RoomWanted room) {
  std::vector<uint64_t> removed;
  uint64_t used = 0;
  // In this order: what is removed decides about what follows.
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
  remove_if([](const PartUse& part) { return part.wanted == 0; });
  for (const PartUse& part : parts) used += part.bytes;
  // Until `missing` fits: those of which least is wanted by `share`.
  const auto make_room = [&](uint64_t missing, uint64_t PartUse::*share) {
    // Tables and the ends of batches take some too.
    const auto need = [](uint64_t bytes) { return bytes + bytes / 32; };
    std::sort(parts.begin(), parts.end(),
              [share](const PartUse& a, const PartUse& b) {
                return a.*share < b.*share;
              });
    uint64_t given = 0;  // wanted of what was removed
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

absl::optional<TierPlace> TierStore::Find(EntryId file) const {
  TierPlace place;
  {
    MutexLock lock(mu_);
    const auto found = where_.find(file);
    if (found == where_.end()) return absl::nullopt;
    place.part = parts_.at(found->second->id);
  }
  const StagedPart::File& found = *place.part->Find(file);
  place.offset = uint64_t{found.page} * kTierPage;
  place.checks = absl::MakeSpan(place.part->checks)
                     .subspan(found.first_check,
                              TierChecksOf(catalogue_->attributes(file).size));
  return place;
}

bool TierStore::Has(EntryId file) const {
  MutexLock lock(mu_);
  return where_.contains(file);
}

uint64_t TierStore::bytes() const {
  MutexLock lock(mu_);
  return bytes_;
}

void TierStore::Add(std::shared_ptr<const StagedPart> part) {
  MutexLock lock(mu_);
  bytes_ += part->bytes;
  for (const StagedPart::File& file : part->files) {
    where_.try_emplace(file.entry, part.get());
  }
  const uint64_t id = part->id;
  parts_.emplace(id, std::move(part));
}

bool TierStore::Forget(EntryId file, uint64_t part) {
  MutexLock lock(mu_);
  const auto found = where_.find(file);
  if (found == where_.end() || found->second->id != part) return false;
  where_.erase(found);
  return true;
}

bool TierStore::Remove(uint64_t part) {
  MutexLock lock(mu_);
  const auto found = parts_.find(part);
  if (found == parts_.end()) return false;
  for (const StagedPart::File& file : found->second->files) {
    const auto place = where_.find(file.entry);
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
    const std::function<Rank(EntryId)>& rank) const {
  std::vector<PartUse> uses;
  for (const auto& part : Parts()) {
    PartUse use;
    use.id = part->id;
    use.bytes = part->bytes;
    MutexLock lock(mu_);  // a part at a time: readers ask for places meanwhile
    for (const StagedPart::File& file : part->files) {
      const auto place = where_.find(file.entry);
      if (place == where_.end() || place->second != part.get()) continue;
      const Rank wanted = rank(file.entry);
      if (wanted == Rank::kNone) continue;
      const uint64_t bytes =
          TierRoundUp(catalogue_->attributes(file.entry).size);
      use.wanted += bytes;
      if (wanted == Rank::kFirst) use.first += bytes;
    }
    uses.push_back(use);
  }
  return uses;
}

}  // namespace shufflefs
