// SPDX-License-Identifier: Apache-2.0
// BlockOrder puts the blocks of a container in a random order and mixes the
// records of each window of blocks. This is REIMU's block shuffle with a
// shuffle of rows in memory. With windows of one block, and blocks that are
// pages of the device, it is LIRS' page-aware shuffling.
//
// Block b is the b-th block_bytes bytes of the file, counted from the one in
// which the first record begins. A record belongs to the block that contains
// it. If it begins in one block and ends in another, it belongs to the one that
// comes later. Then the bytes of each block are read only once, if the piece of
// the record that came with the other block is kept. (LIRS, which loads a page
// twice for such a record, left that open.) With B blocks and P =
// Permutation(B, kBlockOrder), window w is the blocks P(w*W), … in succession.
// If they hold m records, the t-th record to come is the Q(t)-th of these, Q =
// Permutation(m, SubKey(kInsideBlock, w)). The blocks may be those of another
// container with as many records: the order is that one's.
//
// A part is one or more windows. If a window is larger than a part may be, a
// part is an equal share of its records, in their order. The same applies if a
// window has more records than a part may have (MostRecordsOfPart), estimated
// from its mean block: its blocks are random, so windows differ little.
#ifndef SHUFFLEFS_CORE_RECORDS_ORDER_BLOCK_ORDER_H_
#define SHUFFLEFS_CORE_RECORDS_ORDER_BLOCK_ORDER_H_

#include <cstdint>
#include <vector>

#include "core/formats/record_table.h"
#include "core/policy/policy.h"
#include "core/random/permutation.h"
#include "core/random/random.h"
#include "core/records/order/record_order.h"
#include "core/records/order/window_mix.h"

namespace shufflefs {

class BlockOrder : public RecordOrder {
 public:
  // So many reads keep every device busy. If two neighbours are on their way at
  // the same time, neither has the other's piece of a record, and one page is
  // read twice. So of small blocks no more are fetched ahead, but a whole
  // window.
  static constexpr uint64_t kAheadBlocks = 2048;

  // Parts have about `part_bytes` bytes, but are whole windows. They exceed
  // options.most_part_bytes only if the blocks differ much. The table outlives
  // the order.
  BlockOrder(const RecordTable& table, RecordBlocks blocks,
             const RecordOrderOptions& options, uint64_t part_bytes);

  uint64_t part_count() const override;
  PartRecords RecordsOf(uint64_t part) const override;
  uint64_t ahead_bytes() const override;

 protected:
  Sums SumsOf(uint64_t part) const override;
  uint64_t steps() const override;

 private:
  using Run = PartRecords::Run;  // may be empty here

  uint64_t windows() const;
  // Bytes per block of `table_`.
  uint64_t OwnBlockBytes() const;
  // The average number of records in `blocks` blocks, rounded up.
  uint64_t MeanRecords(uint64_t blocks) const;
  Run RunOf(uint64_t block) const;
  // Returns whether block `a` comes after block `b`.
  bool IsLater(uint64_t a, uint64_t b) const {
    return order_.Inverse(a) > order_.Inverse(b);
  }
  uint64_t BlockOf(uint64_t offset) const {
    return offset / blocks_.bytes - first_block_;
  }
  // The blocks of windows [first, last), in the order in which they come.
  std::vector<BlockSlot> SlotsOf(uint64_t first, uint64_t last) const;
  PartRecords WindowsOf(uint64_t first, uint64_t last) const;
  // For a part that is a share of a window.
  PartRecords ShareOf(uint64_t part) const;
  Sums SumsOfBlocks(uint64_t first_window, uint64_t last_window) const;
  Sums SumsOfShare(uint64_t part) const;

  // Constant after construction.
  const RecordTable& table_;
  const RecordTable& by_;
  const RecordBlocks blocks_;
  const uint64_t first_block_;  // of the file
  const Permutation order_;
  const RandomKey inside_;
  const bool of_a_file_;
  uint64_t per_part_ = 1;  // windows
  uint64_t shares_ = 1;    // parts per window; 1 unless per_part_ is 1
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_ORDER_BLOCK_ORDER_H_
