// SPDX-License-Identifier: Apache-2.0
#include "core/records/order/free_order.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "core/base/mutex.h"
#include "core/base/parallel.h"
#include "core/formats/record_math.h"

namespace shufflefs {
namespace {

constexpr uint64_t kChunk = uint64_t{1} << 20;  // records per thread

}  // namespace

FreeOrder::FreeOrder(const RecordTable& table,
                     std::unique_ptr<const Order> order, uint64_t part_bytes)
    : table_(table), order_(std::move(order)) {
  const uint64_t parts =
      std::max<uint64_t>(DivideUp(BytesOfAll(table), part_bytes), 1);
  per_part_ = std::max<uint64_t>(DivideUp(table.count(), parts), 1);
}

uint64_t FreeOrder::part_count() const {
  return DivideUp(table_.count(), per_part_);
}

uint64_t FreeOrder::CountOf(uint64_t part) const {
  const uint64_t first = part * per_part_;
  return std::min(first + per_part_, table_.count()) - first;
}

PartRecords FreeOrder::AllRecords() const {
  PartRecords all;
  all.runs.push_back({0, table_.count()});
  all.positions.resize(table_.count());
  for (uint64_t at = 0; at < table_.count(); ++at) {
    all.positions[order_->SampleAt(at)] = static_cast<uint32_t>(at);
  }
  return all;
}

PartRecords FreeOrder::RecordsOf(uint64_t part) const {
  if (table_.count() > 0 && part_count() == 1) return AllRecords();
  struct Place {
    uint64_t record;
    uint32_t position;
  };
  std::vector<Place> places(CountOf(part));
  for (uint64_t i = 0; i < places.size(); ++i) {
    places[i] = {order_->SampleAt(part * per_part_ + i),
                 static_cast<uint32_t>(i)};
  }
  std::sort(places.begin(), places.end(),
            [](const Place& a, const Place& b) { return a.record < b.record; });
  PartRecords records;
  records.positions.reserve(places.size());
  for (const Place& place : places) {
    if (records.runs.empty() || records.runs.back().last != place.record) {
      records.runs.push_back({place.record, place.record});
    }
    ++records.runs.back().last;
    records.positions.push_back(place.position);
  }
  return records;
}

RecordOrder::Sums FreeOrder::SumsOf(uint64_t part) const {
  const uint64_t count = CountOf(part);
  if (table_.record_bytes() != 0) {
    return Sums{count * table_.record_bytes(), count};
  }
  Sums sums{0, count};
  for (uint64_t i = 0; i < count; ++i) {
    sums.bytes += table_.bytes(order_->SampleAt(part * per_part_ + i));
  }
  return sums;
}

// Iterates over the file, not over the order. So it reads the table
// sequentially instead of at random.
std::vector<RecordOrder::Sums> FreeOrder::SumsOfAllParts() const {
  if (table_.record_bytes() != 0) return RecordOrder::SumsOfAllParts();
  Mutex mu;
  std::vector<Sums> all(part_count());
  for (uint64_t p = 0; p < all.size(); ++p) all[p].records = CountOf(p);
  ParallelOptions parallel;
  parallel.threads = static_cast<int>(std::thread::hardware_concurrency());
  parallel.chunk = kChunk;
  parallel.name = "order";
  ParallelFor(table_.count(), parallel, [&](uint64_t begin, uint64_t end) {
    const std::vector<uint64_t> some = BytesByPart(begin, end);
    MutexLock lock(mu);
    for (uint64_t p = 0; p < all.size(); ++p) all[p].bytes += some[p];
    return true;
  });
  return all;
}

uint64_t FreeOrder::steps() const {
  return table_.record_bytes() != 0 ? part_count() : table_.count();
}

std::vector<uint64_t> FreeOrder::BytesByPart(uint64_t begin,
                                             uint64_t end) const {
  std::vector<uint64_t> bytes(part_count());
  std::vector<uint64_t> begins;
  for (uint64_t first = begin; first < end; first += begins.size() - 1) {
    begins.resize(std::min<uint64_t>(end - first, 4096) + 1);
    table_.Begins(first, absl::MakeSpan(begins));
    for (uint64_t k = 0; k + 1 < begins.size(); ++k) {
      bytes[order_->PositionOf(first + k) / per_part_] +=
          begins[k + 1] - begins[k];
    }
  }
  return bytes;
}

}  // namespace shufflefs
