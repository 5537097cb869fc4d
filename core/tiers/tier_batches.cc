// SPDX-License-Identifier: Apache-2.0
#include "core/tiers/tier_batches.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/tiers/tier_part.h"

namespace shufflefs {

TierBatches::TierBatches(std::unique_ptr<Arena> memory,
                         std::function<void(FilePiece)> again)
    : memory_(std::move(memory)),
      // Whole checks: of a file that is larger than a batch, too.
      batch_bytes_(memory_->capacity() / kBatches / kTierCheckBytes *
                   kTierCheckBytes),
      again_(std::move(again)) {}

absl::Span<char> TierBatches::memory(int batch) const {
  return memory_->memory().subspan(batch * batch_bytes_, batch_bytes_);
}

char* TierBatches::AddressOf(int batch, uint64_t offset) const {
  return memory(batch).data() + offset;
}

// REQUIRES: the caller is counted in `busy`, so that the memory stays.
void TierBatches::CopyOut(Where from, uint64_t offset, FilePiece piece) {
  const char* at = AddressOf(from.batch, offset + piece.offset);
  uint64_t left = piece.length;
  for (const iovec& run : piece.into) {
    const size_t take = std::min<uint64_t>(run.iov_len, left);
    if (take > 0) std::memcpy(run.iov_base, at, take);
    at += take;
    left -= take;
  }
  piece.done(absl::OkStatus());
}

void TierBatches::Leave(int batch) {
  {
    MutexLock lock(mu_);
    --batches_[batch].busy;
  }
  changed_.SignalAll();
}

bool TierBatches::Join(FilePiece& piece) {
  Where where;
  uint64_t offset = 0;
  {
    MutexLock lock(mu_);
    const auto found = where_.find(piece.file);
    if (found == where_.end()) return false;
    where = found->second;
    Batch& batch = batches_[where.batch];
    Slot& slot = batch.slots[where.slot];
    if (slot.state == State::kFailed) return false;
    if (slot.state == State::kComing) {
      slot.waiting.push_back(std::move(piece));
      return true;
    }
    offset = slot.offset;
    ++batch.busy;
  }
  CopyOut(where, offset, std::move(piece));
  Leave(where.batch);
  return true;
}

bool TierBatches::BeginCapture(EntryId file, uint64_t length) {
  if (length > batch_bytes_) return false;
  MutexLock lock(mu_);
  capture_wish_ = true;
  const bool open = batches_[0].open || batches_[1].open;
  return open && !where_.contains(file) && captures_.insert(file).second;
}

void TierBatches::EndCapture(EntryId file, uint64_t length,
                             const std::vector<iovec>* bytes) {
  Where where{-1, 0};
  uint64_t offset = 0;
  {
    MutexLock lock(mu_);
    captures_.erase(file);
    for (int i = 0; bytes != nullptr && where.batch < 0 && i < kBatches; ++i) {
      if (!batches_[i].open ||
          TierRoundUp(length) > batches_[i].limit - batches_[i].used) {
        continue;
      }
      where = Take(i, file, length);
      Slot& slot = batches_[i].slots[where.slot];
      slot.captured = true;
      offset = slot.offset;
    }
  }
  if (where.batch < 0) {
    changed_.SignalAll();
    return;
  }
  char* at = AddressOf(where.batch, offset);
  uint64_t left = length;
  for (const iovec& run : *bytes) {
    const size_t take = std::min<uint64_t>(run.iov_len, left);
    if (take > 0) std::memcpy(at, run.iov_base, take);
    at += take;
    left -= take;
  }
  Arrived(where.batch, where.slot, absl::OkStatus());
}

TierBatches::Where TierBatches::Take(int batch, EntryId file, uint64_t length) {
  Batch& into = batches_[batch];
  Slot slot;
  slot.file = file;
  slot.offset = into.used;
  slot.length = length;
  into.used += TierRoundUp(length);
  ++into.busy;
  into.slots.push_back(std::move(slot));
  const Where where{batch, into.slots.size() - 1};
  where_[file] = where;
  return where;
}

void TierBatches::Arrived(int batch, size_t number,
                          const absl::Status& status) {
  std::vector<FilePiece> waiting;
  uint64_t offset = 0;
  {
    MutexLock lock(mu_);
    Slot& slot = batches_[batch].slots[number];
    slot.state = status.ok() ? State::kHere : State::kFailed;
    waiting.swap(slot.waiting);
    offset = slot.offset;
  }
  // It is busy still: the memory stays.
  for (FilePiece& piece : waiting) {
    if (status.ok()) {
      CopyOut({batch, number}, offset, std::move(piece));
    } else {
      again_(std::move(piece));
    }
  }
  Leave(batch);
}

void TierBatches::Open(int batch, uint64_t limit) {
  MutexLock lock(mu_);
  batches_[batch].open = true;
  batches_[batch].limit = std::min(limit, batch_bytes_) / kTierPage * kTierPage;
}

TierBatches::Reserved TierBatches::Reserve(int batch, EntryId file,
                                           uint64_t length, uint64_t spare,
                                           Place& place) {
  MutexLock lock(mu_);
  if (where_.contains(file) || captures_.contains(file)) {
    return Reserved::kElsewhere;
  }
  const uint64_t needs = TierRoundUp(length);
  const uint64_t room = batches_[batch].limit - batches_[batch].used;
  // The first file of a batch takes what it needs, or it would never fit.
  if (needs > room || (batches_[batch].used > 0 && needs + spare > room)) {
    return Reserved::kFull;
  }
  const Where where = Take(batch, file, length);
  place.slot = where.slot;
  place.memory = AddressOf(batch, batches_[batch].slots[where.slot].offset);
  return Reserved::kYes;
}

bool TierBatches::Drained(int batch, const std::function<bool()>& stopped) {
  MutexLock lock(mu_);
  while (!stopped()) {
    if (batches_[batch].busy == 0) return true;
    changed_.Wait(mu_);
  }
  return false;
}

void TierBatches::Wake() {
  { MutexLock lock(mu_); }
  changed_.SignalAll();
}

std::vector<TierBatches::Content> TierBatches::Close(int batch) {
  std::vector<Content> contents;
  MutexLock lock(mu_);
  Batch& closed = batches_[batch];
  closed.open = false;
  while (closed.busy > 0) changed_.Wait(mu_);
  for (const Slot& slot : closed.slots) {
    contents.push_back({slot.file, slot.offset, slot.length, slot.captured,
                        slot.state == State::kHere});
  }
  return contents;
}

void TierBatches::Release(int batch) {
  MutexLock lock(mu_);
  Batch& released = batches_[batch];
  for (const Slot& slot : released.slots) where_.erase(slot.file);
  while (released.busy > 0) changed_.Wait(mu_);
  released.slots.clear();
  released.used = 0;
}

uint64_t TierBatches::Shut(int batch) {
  MutexLock lock(mu_);
  batches_[batch].open = false;
  return batches_[batch].used;
}

bool TierBatches::IsCaptured(EntryId file) const {
  MutexLock lock(mu_);
  return captures_.contains(file);
}

bool TierBatches::TakeCaptureWish() {
  MutexLock lock(mu_);
  return std::exchange(capture_wish_, false);
}

}  // namespace shufflefs
