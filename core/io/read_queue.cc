// SPDX-License-Identifier: Apache-2.0
#include "core/io/read_queue.h"

#include <iterator>
#include <utility>

namespace shufflefs {

void ReadQueue::Push(std::vector<FileRead> reads) {
  queue_.insert(queue_.end(), std::make_move_iterator(reads.begin()),
                std::make_move_iterator(reads.end()));
}

void ReadQueue::PushUrgent(FileRead read) {
  urgent_.push_back(std::move(read));
}

bool ReadQueue::Ready() const {
  if (waiting() == 0) return false;
  if (cancelled_ || begun_ == 0) return true;
  // Not a sum: a length may be anything.
  return begun_ < depth_ && in_flight_ < max_bytes_ &&
         front().length <= max_bytes_ - in_flight_;
}

absl::optional<ReadQueue::Next> ReadQueue::Take() {
  if (!Ready()) return absl::nullopt;
  std::deque<FileRead>& from = urgent_.empty() ? queue_ : urgent_;
  Next next{std::move(from.front()), cancelled_, !urgent_.empty()};
  from.pop_front();
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
