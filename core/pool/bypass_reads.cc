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

absl::Status BypassReads::Prepare(absl::Span<const uint32_t> devices) {
  MutexLock lock(mu_);
  if (memory_ != nullptr) return absl::OkStatus();
  const DeviceLanes lanes(
      devices, std::min<size_t>(bytes_ / kLongestRead, ReadQueue::kDevices));
  // A read that begins within a page takes one more.
  const uint64_t more = lanes.count() > 1 ? lanes.count() * Arena::kPage : 0;
  ASSIGN_OR_RETURN(memory_, Arena::Make(bytes_ + more));
  lanes_ = lanes;
  waiting_ = LaneQueue<Wish>(lanes.count());
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
  bool stopped = false;
  {
    MutexLock lock(mu_);
    stopped = stopped_;
    if (!stopped) {
      const size_t lane = lanes_.Of(waiter.device);
      waiting_.Push(lane, Wish{std::move(source), file, std::move(waiter)});
    }
  }
  if (stopped) return Cancel(waiter);
  Go(/*lane=*/0, /*freed=*/0);
}

void BypassReads::Stop() {
  std::vector<Wish> waiting;
  {
    MutexLock lock(mu_);
    stopped_ = true;
    waiting = waiting_.Clear();
    // They ask a reader for one read, which waits for no device.
    while (asking_ > 0) asked_.Wait(mu_);
  }
  for (const Wish& wish : waiting) Cancel(wish.waiter);
}

absl::optional<BypassReads::Begun> BypassReads::TakeNext(size_t lane,
                                                         uint64_t freed) {
  MutexLock lock(mu_);
  used_[lane] -= freed;
  for (size_t i = 0; i < waiting_.offers(); ++i) {
    const auto [at, wish] = waiting_.At(i);
    if (wish == nullptr) continue;
    const uint64_t bytes = Arena::Footprint(
        wish->waiter.offset % kReadAlignment + wish->waiter.length);
    // If there is no memory, the read that ends next continues from here.
    if (used_[at] > 0 && used_[at] + bytes > bytes_ / used_.size()) continue;
    std::shared_ptr<MemoryBlock> memory = memory_->Allocate(bytes);
    if (memory == nullptr) continue;
    used_[at] += bytes;
    ++asking_;
    return Begun{waiting_.Take(at), at, bytes, std::move(memory)};
  }
  return absl::nullopt;
}

void BypassReads::Asked() {
  MutexLock lock(mu_);
  if (--asking_ == 0) asked_.SignalAll();
}

void BypassReads::Go(size_t lane, uint64_t freed) {
  while (absl::optional<Begun> next = TakeNext(lane, std::exchange(freed, 0))) {
    ReadWaiter& waiter = next->wish.waiter;
    const uint64_t before = waiter.offset % kReadAlignment;
    FilePiece piece;
    piece.file = next->wish.file;
    piece.offset = waiter.offset - before;
    piece.length = before + waiter.length;
    piece.into = next->memory->pieces();
    piece.done = [self = shared_from_this(), memory = std::move(next->memory),
                  before, lane = next->lane, bytes = next->bytes,
                  waiter =
                      std::move(waiter)](const absl::Status& status) mutable {
      if (status.ok()) {
        const std::vector<iovec> range = memory->Range(before, waiter.length);
        waiter.done(absl::Span<const iovec>(range));
      } else {
        waiter.done(status);
      }
      if (self->stall_ != nullptr) self->stall_->Leave();
      memory.reset();
      self->Go(lane, bytes);
    };
    next->wish.source->FetchNow(std::move(piece));
    Asked();
  }
}

}  // namespace shufflefs
