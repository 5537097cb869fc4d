// SPDX-License-Identifier: Apache-2.0
// The records of windows of blocks, mixed: what orders by blocks have in
// common.
#ifndef SHUFFLEFS_CORE_RECORDS_ORDER_WINDOW_MIX_H_
#define SHUFFLEFS_CORE_RECORDS_ORDER_WINDOW_MIX_H_

#include <cstdint>
#include <vector>

#include "core/random/random.h"
#include "core/records/order/record_order.h"

namespace shufflefs {

// Positions of a window have 32 bits. Only a container of more records than
// that, all of a few bytes, could have more in one.
inline constexpr uint64_t kMostInWindow = ~uint32_t{0};

// A block where it comes, in a window or several.
struct BlockSlot {
  PartRecords::Run run;  // may be empty here
  uint64_t begin = 0;    // records of the blocks that come before it
};

// Into positions[from, from + records): as which the records of a window of so
// many come, which lie block by block as these come: the t-th that comes is the
// Q(t)-th, Q = Permutation(records, key).
void MixWindow(RandomKey key, uint64_t from, uint64_t records,
               std::vector<uint32_t>& positions);

// `positions`: of each record of the slots, in their order.
PartRecords PartOfSlots(std::vector<BlockSlot> slots,
                        const std::vector<uint32_t>& positions);

// Records of the slots, which begin at the first.
uint64_t RecordsOfSlots(const std::vector<BlockSlot>& slots);

// Of the window that is the slots, mixed as by MixWindow, the records that come
// as number [begin, end). Takes memory for these only.
PartRecords ShareOfWindow(const std::vector<BlockSlot>& slots, RandomKey key,
                          uint64_t begin, uint64_t end);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_ORDER_WINDOW_MIX_H_
