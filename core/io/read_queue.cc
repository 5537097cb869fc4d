// SPDX-License-Identifier: Apache-2.0
#include "core/io/read_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace shufflefs {
namespace {

absl::optional<uint64_t> DeviceOf(const FileRead& read) {
  if (!read.expected) return absl::nullopt;
  return read.expected->device;
}

}  // namespace

size_t ReadQueue::LaneOf(const FileRead& read) {
  const absl::optional<uint64_t> device = DeviceOf(read);
  if (!device) return 0;
  for (size_t i = 0; i < lanes_.size(); ++i) {
    if (lanes_[i].device == device) return i;
  }
  size_t lane = 0;
  while (lane < lanes_.size() && !lanes_[lane].idle()) ++lane;
  if (lane == most_lanes_) return lane - 1;
  if (lane == lanes_.size()) lanes_.emplace_back();
  lanes_[lane].device = device;
  return lane;
}

void ReadQueue::Push(std::vector<FileRead> reads) {
  while (!reads.empty()) {
    // Almost always, all are on one device.
    const auto is_first = [device =
                               DeviceOf(reads.front())](const FileRead& read) {
      return DeviceOf(read) == device;
    };
    const auto others = std::ranges::find_if_not(reads, is_first);
    const auto rest_begin =
        std::stable_partition(others, reads.end(), is_first);
    std::vector<FileRead> rest(std::make_move_iterator(rest_begin),
                               std::make_move_iterator(reads.end()));
    reads.erase(rest_begin, reads.end());
    Lane& lane = lanes_[LaneOf(reads.front())];
    PushTo(lane, std::move(reads));
    reads = std::move(rest);
  }
}

void ReadQueue::PushTo(Lane& lane, std::vector<FileRead> reads) {
  const bool pieces = reads.front().one_of_many;
  if (!pieces || !last_were_pieces_) ++batches_;
  last_were_pieces_ = pieces;
  Batch batch{batches_, {}};
  for (FileRead& read : reads) {
    if (read.place != 0 && !batch.reads.empty()) {
      lane.Push(std::exchange(batch, {++batches_, {}}));
    }
    batch.reads.push_back(std::move(read));
  }
  lane.Push(std::move(batch));
  lane.Choose();
}

void ReadQueue::Lane::Push(Batch batch) {
  queued += batch.reads.size();
  const uint64_t place = batch.reads.front().place;
  if (place == 0) {
    in_line.push_back(std::move(batch));
  } else {
    by_place.Add(place, std::move(batch));
  }
}

void ReadQueue::Lane::Choose() {
  if (!next.reads.empty()) return;
  const bool placed = by_place.size() > 0 && (in_line.empty() || !was_by_place);
  was_by_place = placed;
  if (placed) {
    next = *by_place.Take();
  } else if (!in_line.empty()) {
    next = std::move(in_line.front());
    in_line.pop_front();
  }
}

void ReadQueue::PushUrgent(FileRead read) {
  lanes_[LaneOf(read)].urgent.push_back(std::move(read));
}

bool ReadQueue::IsReady(const Lane& lane) const {
  if (lane.waiting() == 0) return false;
  if (cancelled_ || lane.begun == 0) return true;
  // No sum is used, because it could overflow: a length may be anything.
  return lane.begun < depth_ && lane.in_flight < max_bytes_ &&
         lane.front().length <= max_bytes_ - lane.in_flight;
}

bool ReadQueue::Ready() const {
  for (const Lane& lane : lanes_) {
    if (IsReady(lane)) return true;
  }
  return false;
}

absl::optional<ReadQueue::Next> ReadQueue::Take() {
  const size_t lanes = lanes_.size();
  size_t found = lanes;
  for (size_t i = 0, at = turn_; i < lanes; ++i, ++at) {
    if (at >= lanes) at = 0;
    if (!IsReady(lanes_[at])) continue;
    if (found == lanes) found = at;
    if (lanes_[at].urgent.empty()) continue;
    found = at;
    break;
  }
  if (found == lanes) return absl::nullopt;
  turn_ = found + 1;
  Next next = lanes_[found].Take();
  next.lane = found;
  next.cancelled = cancelled_;
  return next;
}

ReadQueue::Next ReadQueue::Lane::Take() {
  Next taken;
  taken.urgent = !urgent.empty();
  if (taken.urgent) {
    taken.read = std::move(urgent.front());
    urgent.pop_front();
  } else {
    taken.read = std::move(next.reads.front());
    taken.batch = next.number;
    next.reads.pop_front();
    --queued;
    Choose();
  }
  ++begun;
  in_flight += taken.read.length;
  return taken;
}

void ReadQueue::End(size_t lane, uint64_t length, uint64_t got) {
  --lanes_[lane].begun;
  lanes_[lane].in_flight -= length;
  ++reads_;
  bytes_ += got;
}

bool ReadQueue::idle() const {
  for (const Lane& lane : lanes_) {
    if (!lane.idle()) return false;
  }
  return true;
}

FileReaderStats ReadQueue::stats() const {
  FileReaderStats stats;
  stats.reads = reads_;
  stats.bytes = bytes_;
  for (const Lane& lane : lanes_) {
    stats.in_flight += lane.in_flight;
    stats.queued += lane.waiting();
  }
  return stats;
}

}  // namespace shufflefs
