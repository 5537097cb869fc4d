// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/testbed/device_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace shufflefs {

Nanos DeviceModel::Serve(const DeviceRequest& request, Nanos now) {
  ++counts_.requests;
  counts_.bytes += request.length;
  return AnswerAt(request, now);
}

Nanos DeviceModel::Transfer(uint64_t bytes, double bytes_per_second) {
  return Nanos(
      std::llround(static_cast<double>(bytes) * 1e9 / bytes_per_second));
}

Nanos DeviceModel::Random(Nanos limit) {
  if (limit.count() <= 0) return Nanos(0);
  return Nanos(rng_.Bounded(limit.count()));
}

size_t DiskModel::Choose(absl::Span<const DeviceRequest> waiting,
                         Nanos now) const {
  if (now - waiting[0].arrival > options_.patience) return 0;
  size_t nearest = 0;
  uint64_t least = std::numeric_limits<uint64_t>::max();
  for (size_t i = 0; i < std::min(waiting.size(), options_.queue); ++i) {
    const uint64_t offset = waiting[i].offset;
    const uint64_t away = offset > head_ ? offset - head_ : head_ - offset;
    if (away < least) {
      least = away;
      nearest = i;
    }
  }
  return nearest;
}

Nanos DiskModel::SeekTime(uint64_t distance) const {
  if (distance == 0) return Nanos(0);
  const double part = std::sqrt(static_cast<double>(distance) /
                                static_cast<double>(options_.bytes));
  const Nanos range = options_.seek_max - options_.seek_min;
  return options_.seek_min +
         Nanos(std::llround(static_cast<double>(range.count()) * part));
}

Nanos DiskModel::MoveTo(uint64_t offset) {
  if (offset == head_) return Nanos(0);
  const bool ahead = offset > head_;
  const uint64_t gap = ahead ? offset - head_ : head_ - offset;
  const Nanos seek = SeekTime(gap) + Random(options_.rotation);
  if (ahead && gap <= options_.read_through) {
    const Nanos through = Transfer(gap, options_.bytes_per_second);
    if (through < seek) return through;
  }
  ++counts_.seeks;
  return seek;
}

Nanos DiskModel::AnswerAt(const DeviceRequest& request, Nanos) {
  const Nanos cost = MoveTo(request.offset) +
                     Transfer(request.length, options_.bytes_per_second);
  head_ = request.offset + request.length;
  counts_.busy += cost;
  // Not from `now`: a server that woke late must not slow the device down.
  free_at_ = std::max(free_at_, request.arrival) + cost;
  return free_at_;
}

size_t NetworkModel::Choose(absl::Span<const DeviceRequest>, Nanos) const {
  return 0;
}

Nanos NetworkModel::AnswerAt(const DeviceRequest& request, Nanos now) {
  const Nanos transfer = Transfer(request.length, options_.bytes_per_second);
  counts_.busy += transfer;
  link_free_at_ = std::max(link_free_at_, now) + transfer;
  return link_free_at_ + options_.latency + Random(options_.jitter);
}

}  // namespace shufflefs
