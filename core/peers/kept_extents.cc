// SPDX-License-Identifier: Apache-2.0
#include "core/peers/kept_extents.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace shufflefs {

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
    std::shared_ptr<PoolShare> share) {
  std::shared_ptr<KeptExtents> made(
      new KeptExtents(std::move(catalogue), std::move(share)));
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
                         std::shared_ptr<PoolShare> share)
    : catalogue_(std::move(catalogue)), share_(std::move(share)) {}

KeptExtents::Claim KeptExtents::Take(ExtentId id, Ready ready) {
  Claim claim;
  MutexLock lock(mu_);
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
  if (kept->memory == nullptr) return claim;
  claim.what = Claim::What::kRead;
  claim.read = ReadOf(id, std::move(kept));
  places_[id].waiting.push_back(std::move(ready));
  return claim;
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

// The last that came go first: then the rest stays as it is, and the next epoch
// misses the same extents.
void KeptExtents::GiveBack(uint64_t bytes) {
  std::vector<std::shared_ptr<const Kept>> freed;  // with no lock held
  MutexLock lock(mu_);
  while (bytes > 0 && !order_.empty()) {
    const auto place = places_.find(order_.back());
    bytes -= std::min(bytes, Arena::Footprint(place->second.kept->length));
    freed.push_back(std::move(place->second.kept));
    places_.erase(place);
    order_.pop_back();
  }
}

uint64_t KeptExtents::bytes() const { return share_->used(); }

}  // namespace shufflefs
