// SPDX-License-Identifier: Apache-2.0
#include "core/io/read_queue.h"

#include <utility>

namespace shufflefs {

void ReadQueue::Push(std::vector<FileRead> reads) {
  if (reads.empty()) return;
  const bool pieces = reads.front().one_of_many;
  if (!pieces || !last_were_pieces_) ++batches_;
  last_were_pieces_ = pieces;
  Batch batch{batches_, {}};
  for (FileRead& read : reads) {
    if (read.place != 0 && !batch.reads.empty()) {
      PushBatch(std::exchange(batch, {++batches_, {}}));
    }
    batch.reads.push_back(std::move(read));
  }
  PushBatch(std::move(batch));
  Choose();
}

void ReadQueue::PushBatch(Batch batch) {
  queued_ += batch.reads.size();
  const uint64_t place = batch.reads.front().place;
  if (place == 0) {
    in_line_.push_back(std::move(batch));
  } else {
    by_place_.Add(place, std::move(batch));
  }
}

void ReadQueue::Choose() {
  if (!next_.reads.empty()) return;
  const bool placed =
      by_place_.size() > 0 && (in_line_.empty() || !was_by_place_);
  was_by_place_ = placed;
  if (placed) {
    next_ = *by_place_.Take();
  } else if (!in_line_.empty()) {
    next_ = std::move(in_line_.front());
    in_line_.pop_front();
  }
}

void ReadQueue::PushUrgent(FileRead read) {
  urgent_.push_back(std::move(read));
}

bool ReadQueue::Ready() const {
  if (waiting() == 0) return false;
  if (cancelled_ || begun_ == 0) return true;
  // No sum is used, because it could overflow: a length may be anything.
  return begun_ < depth_ && in_flight_ < max_bytes_ &&
         front().length <= max_bytes_ - in_flight_;
}

absl::optional<ReadQueue::Next> ReadQueue::Take() {
  if (!Ready()) return absl::nullopt;
  Next next;
  next.cancelled = cancelled_;
  next.urgent = !urgent_.empty();
  if (next.urgent) {
    next.read = std::move(urgent_.front());
    urgent_.pop_front();
  } else {
    next.read = std::move(next_.reads.front());
    next.batch = next_.number;
    next_.reads.pop_front();
    --queued_;
    Choose();
  }
  ++begun_;
  in_flight_ += next.read.length;
  return next;
}

void ReadQueue::End(uint64_t length, uint64_t got) {
  --begun_;
  in_flight_ -= length;
  ++reads_;
  bytes_ += got;
}

FileReaderStats ReadQueue::stats() const {
  FileReaderStats stats;
  stats.reads = reads_;
  stats.bytes = bytes_;
  stats.in_flight = in_flight_;
  stats.queued = waiting();
  return stats;
}

}  // namespace shufflefs
