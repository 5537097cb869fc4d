// SPDX-License-Identifier: Apache-2.0
#include "core/pool/bypass_reads.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/io/file_reader.h"
#include "core/io/read_queue.h"

namespace shufflefs {

uint64_t BypassReads::BytesOf(uint64_t memory) {
  return std::clamp<uint64_t>(memory / 16, 2 * kLongestRead, 64 * kLongestRead);
}

BypassReads::BypassReads(uint64_t bytes, StallClock* stall)
    : bytes_(bytes),
      stall_(stall),
      fetcher_(ReadQueue::kDevices, {.take_room =
                                         [this](size_t lane, Wish& wish) {
                                           return TakeRoom(lane, wish);
                                         },
                                     .begin =
                                         [this](std::vector<Wish> wishes) {
                                           for (Wish& wish : wishes)
                                             Begin(std::move(wish));
                                         },
                                     .in_order = false}) {}

absl::Status BypassReads::Prepare(absl::Span<const uint32_t> devices) {
  MutexLock lock(mu_);
  if (memory_ != nullptr) return absl::OkStatus();
  const DeviceLanes lanes(
      devices, std::min<size_t>(bytes_ / kLongestRead, ReadQueue::kDevices));
  // A read that begins within a page takes one more.
  const uint64_t more = lanes.count() > 1 ? lanes.count() * Arena::kPage : 0;
  ASSIGN_OR_RETURN(memory_, Arena::Make(bytes_ + more));
  lanes_ = lanes;
  used_.resize(lanes.count());
  return absl::OkStatus();
}

uint64_t BypassReads::used() const {
  MutexLock lock(mu_);
  return memory_ == nullptr ? 0 : memory_->used();
}

ReadWaiter BypassReads::Clip(const Catalogue& catalogue, EntryId file,
                             ReadWaiter read) {
  const uint64_t size = catalogue.file_size(file);
  read.device = catalogue.device(file);
  read.offset = std::min(read.offset, size);
  read.length = std::min({read.length, size - read.offset, kLongestRead});
  return read;
}

void BypassReads::Cancel(const ReadWaiter& waiter) const {
  waiter.done(absl::CancelledError("reads were stopped"));
  if (stall_ != nullptr) stall_->Leave();
}

void BypassReads::Read(std::shared_ptr<SampleSource> source, EntryId file,
                       ReadWaiter waiter) {
  if (stall_ != nullptr) stall_->Enter();
  size_t lane = 0;
  {
    MutexLock lock(mu_);
    lane = lanes_.Of(waiter.device);
  }
  Wish wish{std::move(source), file, std::move(waiter)};
  if (!fetcher_.Add(lane, wish, /*urgent=*/true)) return Cancel(wish.waiter);
  fetcher_.Pump();
}

void BypassReads::Stop() {
  const std::vector<Wish> waiting = fetcher_.Stop();
  // They ask a reader for one read, which waits for no device.
  fetcher_.Wait();
  for (const Wish& wish : waiting) Cancel(wish.waiter);
}

bool BypassReads::TakeRoom(size_t lane, Wish& wish) {
  const uint64_t bytes = Arena::Footprint(wish.waiter.offset % kReadAlignment +
                                          wish.waiter.length);
  MutexLock lock(mu_);
  if (used_[lane] > 0 && used_[lane] + bytes > bytes_ / used_.size()) {
    return false;
  }
  wish.memory = memory_->Allocate(bytes);
  if (wish.memory == nullptr) return false;
  wish.lane = lane;
  wish.bytes = bytes;
  used_[lane] += bytes;
  return true;
}

void BypassReads::Begin(Wish wish) {
  const uint64_t before = wish.waiter.offset % kReadAlignment;
  FilePiece piece;
  piece.file = wish.file;
  piece.offset = wish.waiter.offset - before;
  piece.length = before + wish.waiter.length;
  piece.into = wish.memory->pieces();
  const std::shared_ptr<SampleSource> source = std::move(wish.source);
  piece.done = [self = shared_from_this(),
                wish = std::move(wish)](const absl::Status& status) mutable {
    self->Ended(std::move(wish), status);
  };
  source->FetchNow(std::move(piece));
}

void BypassReads::Ended(Wish wish, const absl::Status& status) {
  const ReadWaiter& waiter = wish.waiter;
  if (status.ok()) {
    const std::vector<iovec> range =
        wish.memory->Range(waiter.offset % kReadAlignment, waiter.length);
    waiter.done(absl::Span<const iovec>(range));
  } else {
    waiter.done(status);
  }
  if (stall_ != nullptr) stall_->Leave();
  wish.memory.reset();
  {
    MutexLock lock(mu_);
    used_[wish.lane] -= wish.bytes;
  }
  fetcher_.Pump();
}

}  // namespace shufflefs
