// SPDX-License-Identifier: Apache-2.0
// Mixes the records of windows of blocks, for all orders by blocks.
#ifndef SHUFFLEFS_CORE_RECORDS_ORDER_WINDOW_MIX_H_
#define SHUFFLEFS_CORE_RECORDS_ORDER_WINDOW_MIX_H_

#include <cstdint>
#include <vector>

#include "core/random/random.h"
#include "core/records/order/record_order.h"

namespace shufflefs {

// Positions in a window have 32 bits. Only a container with more records than
// that, all of a few bytes, could have a larger window.
inline constexpr uint64_t kMostInWindow = ~uint32_t{0};

// A block in the order of a window or several.
struct BlockSlot {
  PartRecords::Run run;  // may be empty here
  uint64_t begin = 0;    // records of the blocks before it
};

// Writes positions[from, from + records): the new position of each record of a
// window, whose records are numbered block by block. The t-th record to come is
// number Q(t), Q = Permutation(records, key).
void MixWindow(RandomKey key, uint64_t from, uint64_t records,
               std::vector<uint32_t>& positions);

// `positions` has the position of each record of the slots, in slot order.
PartRecords PartOfSlots(std::vector<BlockSlot> slots,
                        const std::vector<uint32_t>& positions);

// Records of the slots, counted from the first.
uint64_t RecordsOfSlots(const std::vector<BlockSlot>& slots);

// Takes the window of these slots, mixed as by MixWindow. Returns the records
// at the positions [begin, end). Takes memory for these only.
PartRecords ShareOfWindow(const std::vector<BlockSlot>& slots, RandomKey key,
                          uint64_t begin, uint64_t end);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_ORDER_WINDOW_MIX_H_
