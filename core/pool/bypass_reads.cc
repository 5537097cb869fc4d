// SPDX-License-Identifier: Apache-2.0
#include "core/pool/bypass_reads.h"

#include <algorithm>
#include <deque>
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
  const size_t most =
      std::min<size_t>(bytes_ / kLongestRead, ReadQueue::kDevices);
  const size_t lanes = std::clamp<size_t>(devices.size(), 1, most);
  // A read that begins within a page takes one more.
  const uint64_t more = lanes > 1 ? lanes * Arena::kPage : 0;
  ASSIGN_OR_RETURN(memory_, Arena::Make(bytes_ + more));
  lanes_.resize(lanes);
  for (size_t i = 0; i < devices.size(); ++i) {
    if (devices[i] >= lane_of_.size()) lane_of_.resize(devices[i] + 1);
    lane_of_[devices[i]] = std::min(i, lanes - 1);
  }
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
      const size_t lane =
          waiter.device < lane_of_.size() ? lane_of_[waiter.device] : 0;
      lanes_[lane].waiting.push_back(
          Wish{std::move(source), file, std::move(waiter)});
    }
  }
  if (stopped) return Cancel(waiter);
  Go(/*lane=*/0, /*freed=*/0);
}

void BypassReads::Stop() {
  std::vector<std::deque<Wish>> waiting;
  {
    MutexLock lock(mu_);
    stopped_ = true;
    for (Lane& lane : lanes_) {
      waiting.push_back(std::exchange(lane.waiting, {}));
    }
    // They ask a reader for one read, which waits for no device.
    while (asking_ > 0) asked_.Wait(mu_);
  }
  for (const std::deque<Wish>& lane : waiting) {
    for (const Wish& wish : lane) Cancel(wish.waiter);
  }
}

absl::optional<BypassReads::Begun> BypassReads::TakeOf(size_t lane) {
  Lane& from = lanes_[lane];
  if (from.waiting.empty()) return absl::nullopt;
  const ReadWaiter& waiter = from.waiting.front().waiter;
  const uint64_t bytes =
      Arena::Footprint(waiter.offset % kReadAlignment + waiter.length);
  // If there is no memory, the read that ends next continues from here.
  if (from.used > 0 && from.used + bytes > bytes_ / lanes_.size()) {
    return absl::nullopt;
  }
  Begun begun{{}, lane, bytes, memory_->Allocate(bytes)};
  if (begun.memory == nullptr) return absl::nullopt;
  begun.wish = std::move(from.waiting.front());
  from.waiting.pop_front();
  from.used += bytes;
  return begun;
}

absl::optional<BypassReads::Begun> BypassReads::TakeNext(size_t lane,
                                                         uint64_t freed) {
  MutexLock lock(mu_);
  lanes_[lane].used -= freed;
  for (size_t i = 0; i < lanes_.size(); ++i) {
    const size_t at = (turn_ + i) % lanes_.size();
    absl::optional<Begun> begun = TakeOf(at);
    if (!begun) continue;
    turn_ = at + 1;
    ++asking_;
    return begun;
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
