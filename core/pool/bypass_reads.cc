// SPDX-License-Identifier: Apache-2.0
#include "core/pool/bypass_reads.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/io/file_reader.h"

namespace shufflefs {

uint64_t BypassReads::BytesOf(uint64_t memory) {
  return std::clamp<uint64_t>(memory / 16, 2 * kLongestRead, 64 * kLongestRead);
}

absl::Status BypassReads::Prepare() {
  MutexLock lock(mu_);
  if (memory_ != nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(memory_, Arena::Make(bytes_));
  return absl::OkStatus();
}

uint64_t BypassReads::used() const {
  MutexLock lock(mu_);
  return memory_ == nullptr ? 0 : memory_->used();
}

ReadWaiter BypassReads::Clip(uint64_t size, ReadWaiter read) {
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
      waiting_.push_back(Wish{std::move(source), file, std::move(waiter)});
    }
  }
  if (stopped) return Cancel(waiter);
  Go();
}

void BypassReads::Stop() {
  std::deque<Wish> waiting;
  {
    MutexLock lock(mu_);
    stopped_ = true;
    waiting.swap(waiting_);
    // They ask a reader for one read, which waits for no device.
    while (asking_ > 0) asked_.Wait(mu_);
  }
  for (const Wish& wish : waiting) Cancel(wish.waiter);
}

bool BypassReads::TakeNext(Wish& next, std::shared_ptr<MemoryBlock>& memory) {
  MutexLock lock(mu_);
  if (waiting_.empty()) return false;
  const ReadWaiter& waiter = waiting_.front().waiter;
  // If there is no memory, the read that ends next continues from here.
  memory = memory_->Allocate(waiter.offset % kReadAlignment + waiter.length);
  if (memory == nullptr) return false;
  next = std::move(waiting_.front());
  waiting_.pop_front();
  ++asking_;
  return true;
}

void BypassReads::Asked() {
  MutexLock lock(mu_);
  if (--asking_ == 0) asked_.SignalAll();
}

void BypassReads::Go() {
  for (;;) {
    Wish next;
    std::shared_ptr<MemoryBlock> memory;
    if (!TakeNext(next, memory)) return;
    const uint64_t before = next.waiter.offset % kReadAlignment;
    FilePiece piece;
    piece.file = next.file;
    piece.offset = next.waiter.offset - before;
    piece.length = before + next.waiter.length;
    piece.into = memory->pieces();
    piece.done = [self = shared_from_this(), memory = std::move(memory), before,
                  waiter = std::move(next.waiter)](
                     const absl::Status& status) mutable {
      if (status.ok()) {
        const std::vector<iovec> range = memory->Range(before, waiter.length);
        waiter.done(absl::Span<const iovec>(range));
      } else {
        waiter.done(status);
      }
      if (self->stall_ != nullptr) self->stall_->Leave();
      memory.reset();
      self->Go();
    };
    next.source->FetchNow(std::move(piece));
    Asked();
  }
}

}  // namespace shufflefs
