// SPDX-License-Identifier: Apache-2.0
#include "core/staging/stager/tier_batches.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/staging/tier/tier_part.h"

namespace shufflefs {

TierBatches::TierBatches(std::unique_ptr<Arena> memory,
                         std::function<void(FilePiece)> again)
    : memory_(std::move(memory)),
      count_(memory_->capacity() >= kMostBatches * kLeastOfMany ? kMostBatches
                                                                : 2),
      // Whole checks, because a file may be larger than a batch.
      batch_bytes_(memory_->capacity() / count_ / kTierCheckBytes *
                   kTierCheckBytes),
      again_(std::move(again)) {}

absl::Span<char> TierBatches::memory(int batch) const {
  return memory_->memory().subspan(batch * batch_bytes_, batch_bytes_);
}

char* TierBatches::AddressOf(int batch, uint64_t offset) const {
  return memory(batch).data() + offset;
}

// `offset`: in the batch, of the range's first byte, which is at `from` in the
// file. REQUIRES: the caller is counted in `busy`, so that the memory stays.
void TierBatches::CopyOut(int batch, uint64_t offset, uint64_t from,
                          FilePiece piece) {
  const char* at = AddressOf(batch, offset + (piece.offset - from));
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

const TierBatches::Where* TierBatches::Holder(EntryId file, uint64_t at) const {
  auto found = where_.upper_bound(TierKeyOf(file, at));
  if (found == where_.begin()) return nullptr;
  --found;
  const Slot& slot = SlotAt(found->second);
  const bool holds = slot.range.file == file && slot.range.end() > at &&
                     slot.state != State::kFailed;
  return holds ? &found->second : nullptr;
}

TierCover TierBatches::Around(EntryId file, uint64_t at) const {
  TierCover cover;
  MutexLock lock(mu_);
  const Where* const holder = Holder(file, at);
  if (holder != nullptr) cover.to = SlotAt(*holder).range.end();
  const auto next = where_.upper_bound(TierKeyOf(file, at));
  if (next != where_.end() && FileOf(next->first) == file) {
    cover.next = FromOf(next->first);
  }
  return cover;
}

bool TierBatches::Join(FilePiece& piece) {
  int number = 0;
  uint64_t offset = 0;
  uint64_t from = 0;
  {
    MutexLock lock(mu_);
    const Where* const holder = Holder(piece.file, piece.offset);
    if (holder == nullptr) return false;
    number = holder->batch;
    Batch& batch = batches_[number];
    Slot& slot = batch.slots[holder->slot];
    if (slot.range.end() < piece.offset + piece.length) return false;
    if (slot.state == State::kComing) {
      slot.waiting.push_back(std::move(piece));
      return true;
    }
    offset = slot.offset;
    from = slot.range.from;
    ++batch.busy;
  }
  CopyOut(number, offset, from, std::move(piece));
  Leave(number);
  return true;
}

bool TierBatches::BeginCapture(const StagedRange& range) {
  if (range.length > batch_bytes_) return false;
  const TierKey key = TierKeyOf(range.file, range.from);
  MutexLock lock(mu_);
  const bool open = std::any_of(batches_.begin(), batches_.end(),
                                [](const Batch& each) { return each.open; });
  return open && !where_.contains(key) && captures_.insert(key).second;
}

absl::optional<TierBatches::Demanded> TierBatches::Demand(
    const StagedRange& range) {
  const TierKey key = TierKeyOf(range.file, range.from);
  const uint64_t needs = TierRoundUp(range.length);
  MutexLock lock(mu_);
  if (where_.contains(key) || captures_.contains(key)) return absl::nullopt;
  for (int i = 0; i < count_; ++i) {
    if (!batches_[i].open || needs > batches_[i].limit - batches_[i].used) {
      continue;
    }
    const Where where = Take(i, range);
    Slot& slot = batches_[i].slots[where.slot];
    slot.captured = true;
    return Demanded{i, {where.slot, AddressOf(i, slot.offset)}};
  }
  return absl::nullopt;
}

void TierBatches::EndCapture(const StagedRange& range,
                             const std::vector<iovec>* bytes, uint64_t skip) {
  Where where{-1, 0};
  uint64_t offset = 0;
  {
    MutexLock lock(mu_);
    captures_.erase(TierKeyOf(range.file, range.from));
    for (int i = 0; bytes != nullptr && where.batch < 0 && i < count_; ++i) {
      if (!batches_[i].open ||
          TierRoundUp(range.length) > batches_[i].limit - batches_[i].used) {
        continue;
      }
      where = Take(i, range);
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
  uint64_t left = range.length;
  for (const iovec& run : *bytes) {
    const size_t over = std::min<uint64_t>(run.iov_len, skip);
    const size_t take = std::min<uint64_t>(run.iov_len - over, left);
    if (take > 0) {
      std::memcpy(at, static_cast<const char*>(run.iov_base) + over, take);
    }
    at += take;
    left -= take;
    skip -= over;
  }
  Arrived(where.batch, where.slot, absl::OkStatus());
}

TierBatches::Where TierBatches::Take(int batch, const StagedRange& range) {
  Batch& into = batches_[batch];
  Slot slot;
  slot.range = range;
  slot.offset = into.used;
  into.used += TierRoundUp(range.length);
  ++into.busy;
  into.slots.push_back(std::move(slot));
  const Where where{batch, into.slots.size() - 1};
  where_[TierKeyOf(range.file, range.from)] = where;
  return where;
}

void TierBatches::Arrived(int batch, size_t number,
                          const absl::Status& status) {
  std::vector<FilePiece> waiting;
  uint64_t offset = 0;
  uint64_t from = 0;
  {
    MutexLock lock(mu_);
    Slot& slot = batches_[batch].slots[number];
    slot.state = status.ok() ? State::kHere : State::kFailed;
    waiting.swap(slot.waiting);
    offset = slot.offset;
    from = slot.range.from;
  }
  // The batch is still busy, so its memory stays.
  for (FilePiece& piece : waiting) {
    if (status.ok()) {
      CopyOut(batch, offset, from, std::move(piece));
    } else {
      again_(std::move(piece));
    }
  }
  Leave(batch);
}

void TierBatches::Open(int batch, uint64_t limit) {
  MutexLock lock(mu_);
  Batch& opened = batches_[batch];
  opened.open = true;
  opened.limit = std::max(
      opened.used, std::min(limit, batch_bytes_) / kTierPage * kTierPage);
}

TierBatches::Reserved TierBatches::Reserve(int batch, const StagedRange& range,
                                           Place& place) {
  const TierKey key = TierKeyOf(range.file, range.from);
  MutexLock lock(mu_);
  if (where_.contains(key) || captures_.contains(key)) {
    return Reserved::kElsewhere;
  }
  const uint64_t room = batches_[batch].limit - batches_[batch].used;
  if (TierRoundUp(range.length) > room) return Reserved::kFull;
  const Where where = Take(batch, range);
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
    contents.push_back(
        {slot.range, slot.offset, slot.captured, slot.state == State::kHere});
  }
  return contents;
}

void TierBatches::Release(int batch) {
  MutexLock lock(mu_);
  Batch& released = batches_[batch];
  for (const Slot& slot : released.slots) {
    where_.erase(TierKeyOf(slot.range.file, slot.range.from));
  }
  while (released.busy > 0) changed_.Wait(mu_);
  released.slots.clear();
  released.used = 0;
}

bool TierBatches::IsEmpty(int batch) const {
  MutexLock lock(mu_);
  return batches_[batch].used == 0;
}

uint64_t TierBatches::Shut(int batch) {
  MutexLock lock(mu_);
  batches_[batch].open = false;
  return batches_[batch].used;
}

bool TierBatches::IsCaptured(const StagedRange& range) const {
  MutexLock lock(mu_);
  return captures_.contains(TierKeyOf(range.file, range.from));
}

}  // namespace shufflefs
