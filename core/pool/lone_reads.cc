// SPDX-License-Identifier: Apache-2.0
#include "core/pool/lone_reads.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/io/file_reader.h"

namespace shufflefs {

absl::StatusOr<std::shared_ptr<LoneReads>> LoneReads::Make(
    uint64_t bytes, std::shared_ptr<SampleSource> source, StallClock* stall) {
  ASSIGN_OR_RETURN(std::unique_ptr<Arena> memory, Arena::Make(bytes));
  return std::shared_ptr<LoneReads>(
      new LoneReads(std::move(memory), std::move(source), stall));
}

LoneReads::LoneReads(std::unique_ptr<Arena> memory,
                     std::shared_ptr<SampleSource> source, StallClock* stall)
    : stall_(stall), source_(std::move(source)), memory_(std::move(memory)) {}

ReadWaiter LoneReads::Clip(uint64_t size, ReadWaiter read) {
  read.offset = std::min(read.offset, size);
  read.length = std::min({read.length, size - read.offset, kLongestRead});
  return read;
}

void LoneReads::Read(EntryId file, ReadWaiter waiter) {
  if (stall_ != nullptr) stall_->Enter();
  {
    MutexLock lock(mu_);
    waiting_.push_back(Wish{file, std::move(waiter)});
  }
  Go();
}

void LoneReads::Go() {
  for (;;) {
    Wish next;
    std::shared_ptr<MemoryBlock> memory;
    uint64_t before = 0;
    {
      MutexLock lock(mu_);
      if (waiting_.empty()) return;
      const ReadWaiter& waiter = waiting_.front().waiter;
      before = waiter.offset % kReadAlignment;
      // If there is no memory, the read that ends next continues from here.
      memory = memory_->Allocate(before + waiter.length);
      if (memory == nullptr) return;
      next = std::move(waiting_.front());
      waiting_.pop_front();
    }
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
    source_->FetchNow(std::move(piece));
  }
}

}  // namespace shufflefs
