// SPDX-License-Identifier: Apache-2.0
#include "core/records/window_mix.h"

#include <algorithm>

#include "core/permutation.h"

namespace shufflefs {
namespace {

// Appends record `r` to runs that end before it.
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
    if (slot.run.size() == 0) continue;  // so all its bytes are of one record
    records.runs.push_back(slot.run);
    const auto begin = positions.begin() + static_cast<int64_t>(slot.begin);
    records.positions.insert(records.positions.end(), begin,
                             begin + static_cast<int64_t>(slot.run.size()));
  }
  return records;
}

PartRecords ShareOfPart(const PartRecords& part, uint64_t begin, uint64_t end) {
  PartRecords share;
  share.positions.reserve(end - begin);
  size_t at = 0;
  for (const PartRecords::Run& run : part.runs) {
    for (uint64_t r = run.first; r < run.last; ++r, ++at) {
      const uint64_t position = part.positions[at];
      if (position < begin || position >= end) continue;
      AppendRecord(r, share.runs);
      share.positions.push_back(static_cast<uint32_t>(position - begin));
    }
  }
  return share;
}

}  // namespace shufflefs
