// SPDX-License-Identifier: Apache-2.0
#include "core/peers/kept_extents.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace shufflefs {
namespace {

// A file that was sent and not read for so long makes room for others. It may
// never be read: somebody only asked for its size.
constexpr std::chrono::seconds kUnread{60};
// Files that have gone and are still listed among those that are there.

}  // namespace

std::vector<iovec> SlicePieces(const std::vector<iovec>& pieces,
                               uint64_t offset, uint64_t length) {
  std::vector<iovec> slice;
  for (const iovec& piece : pieces) {
    if (length == 0) break;
    if (offset >= piece.iov_len) {
      offset -= piece.iov_len;
      continue;
    }
    const size_t take = std::min<uint64_t>(piece.iov_len - offset, length);
    slice.push_back({static_cast<char*>(piece.iov_base) + offset, take});
    length -= take;
    offset = 0;
  }
  return slice;
}

void CopyPieces(const std::vector<iovec>& from, uint64_t offset,
                uint64_t length, const std::vector<iovec>& into) {
  size_t target = 0;
  size_t done = 0;  // bytes of into[target]
  for (const iovec& piece : SlicePieces(from, offset, length)) {
    const char* next = static_cast<const char*>(piece.iov_base);
    size_t left = piece.iov_len;
    while (left > 0) {
      const size_t take = std::min(left, into[target].iov_len - done);
      std::memcpy(static_cast<char*>(into[target].iov_base) + done, next, take);
      next += take;
      left -= take;
      done += take;
      if (done == into[target].iov_len) {
        ++target;
        done = 0;
      }
    }
  }
}

std::shared_ptr<KeptExtents> KeptExtents::Make(
    std::shared_ptr<const Catalogue> catalogue,
    std::shared_ptr<PoolShare> share, GetOwners owners) {
  std::shared_ptr<KeptExtents> made(new KeptExtents(
      std::move(catalogue), std::move(share), std::move(owners)));
  // The pool may call while the object is being destroyed.
  made->share_->Follow(
      [weak = std::weak_ptr<KeptExtents>(made)](uint64_t bytes) {
        if (const std::shared_ptr<KeptExtents> kept = weak.lock()) {
          kept->GiveBack(bytes);
        }
      });
  return made;
}

KeptExtents::KeptExtents(std::shared_ptr<const Catalogue> catalogue,
                         std::shared_ptr<PoolShare> share, GetOwners owners)
    : catalogue_(std::move(catalogue)),
      owners_(std::move(owners)),
      share_(std::move(share)) {}

KeptExtents::Claim KeptExtents::Take(ExtentId id, Ready ready) {
  {
    MutexLock lock(mu_);
    if (auto claim = TryTake(id, ready)) return *std::move(claim);
    if (order_.empty() && of_others_.empty()) return Claim();
  }
  const std::shared_ptr<const Owners> owners = owners_();
  MutexLock lock(mu_);
  FindOthers(owners);
  for (;;) {
    if (auto claim = TryTake(id, ready)) return *std::move(claim);
    if (of_others_.empty()) return Claim();
    DropLast(of_others_);
  }
}

absl::optional<KeptExtents::Claim> KeptExtents::TryTake(ExtentId id,
                                                        Ready& ready) {
  Claim claim;
  const auto found = places_.find(id);
  if (found != places_.end() && found->second.kept != nullptr) {
    claim.what = Claim::What::kKept;
    claim.bytes = BytesOf(found->second.kept);
    return claim;
  }
  if (found != places_.end()) {
    claim.what = Claim::What::kComing;
    found->second.waiting.push_back(std::move(ready));
    return claim;
  }
  const uint64_t begin = id.part * ExtentId::kBytes;
  auto kept = std::make_shared<Kept>();
  kept->length = std::min<uint64_t>(catalogue_->file_size(id.file) - begin,
                                    ExtentId::kBytes);
  kept->memory = share_->Allocate(kept->length);
  if (kept->memory == nullptr) return absl::nullopt;
  claim.what = Claim::What::kRead;
  claim.read = ReadOf(id, std::move(kept));
  places_[id].waiting.push_back(std::move(ready));
  return claim;
}

// With the group, owners change. Members never ask again for what another one
// owns, so it must not stay while what is owned here finds no memory.
void KeptExtents::FindOthers(const std::shared_ptr<const Owners>& owners) {
  if (owners == seen_ || !owners->has_others()) return;
  seen_ = owners;
  order_.insert(order_.end(), of_others_.begin(), of_others_.end());
  const auto others =
      std::stable_partition(order_.begin(), order_.end(), [&](ExtentId id) {
        return owners->group()->members[owners->Of(id)].self;
      });
  of_others_.assign(others, order_.end());
  order_.erase(others, order_.end());
}

std::shared_ptr<const KeptExtents::Kept> KeptExtents::DropLast(
    std::vector<ExtentId>& order) {
  const auto place = places_.find(order.back());
  order.pop_back();
  std::shared_ptr<const Kept> kept = std::move(place->second.kept);
  places_.erase(place);
  return kept;
}

void KeptExtents::Drop(EntryId file) {
  std::vector<ExtentId> gone;
  const auto is_gone = [&](ExtentId id) {
    if (id.file == file) gone.push_back(id);
    return id.file == file;
  };
  MutexLock lock(mu_);
  std::erase_if(order_, is_gone);
  std::erase_if(of_others_, is_gone);
  for (const ExtentId id : gone) places_.erase(id);
}

FileRead KeptExtents::ReadOf(ExtentId id, std::shared_ptr<Kept> into) {
  FileRead read;
  read.path = catalogue_->path(id.file);
  read.expected = catalogue_->attributes(id.file);
  read.one_of_many = catalogue_->file_size(id.file) > ExtentId::kBytes;
  read.offset = id.part * ExtentId::kBytes;
  read.length = into->length;
  read.into = into->memory->pieces();
  read.done = [self = shared_from_this(), id, into](absl::Status status) {
    self->Came(id, into, status);
  };
  return read;
}

void KeptExtents::Came(ExtentId id, const std::shared_ptr<const Kept>& kept,
                       const absl::Status& status) {
  std::vector<Ready> waiting;
  {
    MutexLock lock(mu_);
    const auto place = places_.find(id);
    waiting.swap(place->second.waiting);
    if (status.ok()) {
      place->second.kept = kept;
      order_.push_back(id);
    } else {
      places_.erase(place);
    }
  }
  for (const Ready& ready : waiting) {
    if (status.ok()) {
      ready(BytesOf(kept));
    } else {
      ready(status);
    }
  }
}

PeerBytes KeptExtents::BytesOf(const std::shared_ptr<const Kept>& kept) {
  return {SlicePieces(kept->memory->pieces(), 0, kept->length), kept};
}

absl::StatusOr<PeerBytes> KeptExtents::CopyOf(const std::vector<iovec>& pieces,
                                              uint64_t length) const {
  auto copy = std::make_shared<Kept>();
  copy->length = length;
  copy->memory = share_->Allocate(length);
  if (copy->memory == nullptr) {
    return absl::NotFoundError("no memory for it on its way");
  }
  CopyPieces(pieces, 0, length, copy->memory->pieces());
  return BytesOf(copy);
}

// What was sent goes first: to request it again costs less than the source.
// Then the last that came: then the rest stays as it is, and the next epoch
// misses the same extents.
void KeptExtents::GiveBack(uint64_t bytes) {
  std::vector<std::shared_ptr<const Kept>> freed;  // with no lock held
  MutexLock lock(mu_);
  while (bytes > 0 && !sent_order_.empty()) {
    const EntryId file = sent_order_.rbegin()->second;
    freed.push_back(sent_.find(file)->second.kept);
    bytes -= std::min(bytes, Arena::Footprint(freed.back()->length));
    DropSent(file);
  }
  while (bytes > 0 && !(of_others_.empty() && order_.empty())) {
    freed.push_back(DropLast(of_others_.empty() ? order_ : of_others_));
    bytes -= std::min(bytes, Arena::Footprint(freed.back()->length));
  }
}

uint64_t KeptExtents::bytes() const { return share_->used(); }

void KeptExtents::BeginSent(SentFor next) {
  MutexLock lock(mu_);
  std::vector<EntryId> gone;
  for (const auto& [file, sent] : sent_) {
    if (sent.view == next.view) gone.push_back(file);
  }
  for (const EntryId file : gone) DropSent(file);
  bindings_[std::move(next.view)] = next.binding;
}

uint64_t KeptExtents::ReserveSent(uint64_t most) {
  MutexLock lock(mu_);
  if (RoomForSent() < most) DropOldSent();
  most = std::min(most, RoomForSent());
  reserved_ += most;
  return most;
}

uint64_t KeptExtents::RoomForSent() const {
  const uint64_t free = share_->Room();
  const uint64_t bound = share_->guarantee();
  return std::min(free - std::min(free, reserved_),
                  bound - std::min(bound, sent_bytes_ + reserved_));
}

void KeptExtents::EndSent(uint64_t reserved) {
  MutexLock lock(mu_);
  reserved_ -= reserved;
}

void KeptExtents::TakeSent(const SentFor& epoch, EntryId file,
                           const PeerBytes& bytes, uint64_t offset) {
  auto kept = std::make_shared<Kept>();
  kept->length = catalogue_->file_size(file);
  {
    MutexLock lock(mu_);
    const auto binding = bindings_.find(epoch.view);
    if (binding == bindings_.end() || binding->second != epoch.binding ||
        sent_.contains(file)) {
      return;
    }
    kept->memory = share_->Allocate(kept->length);
  }
  if (kept->memory == nullptr) return;
  CopyPieces(bytes.pieces, offset, kept->length, kept->memory->pieces());
  MutexLock lock(mu_);
  const auto binding = bindings_.find(epoch.view);
  if (binding->second != epoch.binding) return;
  const uint64_t footprint = Arena::Footprint(kept->length);
  const auto [sent, is_new] = sent_.try_emplace(
      file, Sent{std::move(kept), epoch.view, 0, Clock::now(), last_sent_ + 1});
  if (!is_new) return;
  sent_bytes_ += footprint;
  sent_order_.emplace(++last_sent_, file);
}

absl::optional<PeerBytes> KeptExtents::GiveSent(EntryId file, uint64_t length) {
  MutexLock lock(mu_);
  const auto found = sent_.find(file);
  if (found == sent_.end()) return absl::nullopt;
  Sent& sent = found->second;
  PeerBytes bytes = BytesOf(sent.kept);
  sent.given += length;
  if (sent.given >= sent.kept->length) DropSent(file);
  return bytes;
}

void KeptExtents::DropOldSent() {
  const Clock::time_point old = Clock::now() - kUnread;
  while (!sent_order_.empty()) {
    const EntryId first = sent_order_.begin()->second;
    if (sent_.find(first)->second.since > old) return;
    DropSent(first);
  }
}

void KeptExtents::DropSent(EntryId file) {
  const auto sent = sent_.find(file);
  if (sent == sent_.end()) return;
  sent_bytes_ -= Arena::Footprint(sent->second.kept->length);
  sent_order_.erase(sent->second.number);
  sent_.erase(sent);
}

}  // namespace shufflefs
