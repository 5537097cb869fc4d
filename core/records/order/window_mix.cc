// SPDX-License-Identifier: Apache-2.0
#include "core/records/order/window_mix.h"

#include <algorithm>
#include <iterator>

#include "core/random/permutation.h"

namespace shufflefs {
namespace {

// Appends record `r`; all runs end before it.
void AppendRecord(uint64_t r, std::vector<PartRecords::Run>& runs) {
  if (runs.empty() || runs.back().last != r) runs.push_back({r, r});
  ++runs.back().last;
}

}  // namespace

void MixWindow(RandomKey key, uint64_t from, uint64_t records,
               std::vector<uint32_t>& positions) {
  const Permutation mix(records, key);
  for (uint64_t t = 0; t < records; ++t) {
    positions[from + mix(t)] = static_cast<uint32_t>(from + t);
  }
}

PartRecords PartOfSlots(std::vector<BlockSlot> slots,
                        const std::vector<uint32_t>& positions) {
  std::sort(slots.begin(), slots.end(),
            [](const BlockSlot& a, const BlockSlot& b) {
              return a.run.first < b.run.first;
            });
  PartRecords records;
  records.runs.reserve(slots.size());
  records.positions.reserve(positions.size());
  for (const BlockSlot& slot : slots) {
    if (slot.run.size() == 0) continue;  // all its bytes belong to one record
    records.runs.push_back(slot.run);
    const auto begin = positions.begin() + static_cast<int64_t>(slot.begin);
    records.positions.insert(records.positions.end(), begin,
                             begin + static_cast<int64_t>(slot.run.size()));
  }
  return records;
}

uint64_t RecordsOfSlots(const std::vector<BlockSlot>& slots) {
  return slots.empty() ? 0 : slots.back().begin + slots.back().run.size();
}

PartRecords ShareOfWindow(const std::vector<BlockSlot>& slots, RandomKey key,
                          uint64_t begin, uint64_t end) {
  const Permutation mix(RecordsOfSlots(slots), key);
  struct Taken {
    uint64_t record = 0;
    uint32_t position = 0;
  };
  std::vector<Taken> taken;
  taken.reserve(end - begin);
  for (uint64_t t = begin; t < end; ++t) {
    const uint64_t at = mix(t);
    // The last slot that begins there, because those before it may be empty.
    const auto behind = std::upper_bound(
        slots.begin(), slots.end(), at,
        [](uint64_t wanted, const BlockSlot& s) { return wanted < s.begin; });
    const BlockSlot& slot = *std::prev(behind);
    taken.push_back({slot.run.first + (at - slot.begin),
                     static_cast<uint32_t>(t - begin)});
  }
  std::sort(taken.begin(), taken.end(), [](const Taken& a, const Taken& b) {
    return a.record < b.record;
  });
  PartRecords share;
  share.positions.reserve(taken.size());
  for (const Taken& each : taken) {
    AppendRecord(each.record, share.runs);
    share.positions.push_back(each.position);
  }
  return share;
}

}  // namespace shufflefs
