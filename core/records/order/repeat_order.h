// SPDX-License-Identifier: Apache-2.0
// Mini-epochs of blocks of a container (MET): a pass over its records shows
// each mini-epoch `factor` times, one after the other, and lasts `factor`
// epochs, each of which shows as many records as there are. So over a pass
// every record comes `factor` times; in one epoch some come several times and
// others not at all.
//
// Mini-epoch m of the pass (core/records/order/block_pass.h) in its repetition r: its
// blocks in an order of their own, P = Permutation(blocks, SubKey(K, 0)); the
// records of each window of them mixed, as by core/records/order/block_order.h, with
// SubKey(K, 1 + window); K = SubKey(SubKey(SubKey(pass, 2 + m), r), salt),
// pass = SubKey(DeriveKey(seed, epoch 0, key, kMiniEpoch), number of the pass).
// The salt is the first of 0, 1, … with which no record follows itself: readers
// of archives take equal names one after the other for one record.
//
// A window is the blocks that the policy says, or 1 MiB of them, if that is
// more: a full shuffle where the mini-epoch is no larger. A part is a window,
// or an equal share of its records where it is larger than a part may be.
#ifndef SHUFFLEFS_CORE_RECORDS_ORDER_REPEAT_ORDER_H_
#define SHUFFLEFS_CORE_RECORDS_ORDER_REPEAT_ORDER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/lazy.h"
#include "core/formats/record_table.h"
#include "core/policy/policy.h"
#include "core/random/random.h"
#include "core/records/order/block_pass.h"
#include "core/records/order/record_order.h"

namespace shufflefs {

// As RecordOrder. The first call composes the pass: some 0.5 us a block.
class RepeatOrder : public RecordOrder {
 public:
  // The table, which is not empty, outlives the order.
  RepeatOrder(const RecordTable& table, RecordBlocks blocks,
              RecordRepeats repeats, const RecordOrderOptions& options);

  uint64_t part_count() const override { return Made().parts.size(); }
  PartRecords RecordsOf(uint64_t part) const override;
  bool is_quick() const override;
  const RepeatOrder* repeats() const override { return this; }

  // Of the pass: a multiple of the factor; of few blocks there are fewer than
  // were asked for.
  uint64_t mini_epochs() const { return Made().pass->mini_epochs(); }
  const RecordRepeats& options() const { return repeats_; }
  // REQUIRES: part < part_count().
  uint64_t MiniEpochOf(uint64_t part) const { return Made().parts[part].mini; }
  uint64_t RepetitionOf(uint64_t part) const {
    return Made().parts[part].repetition;
  }
  // Of the parts of this epoch, the first behind those of mini-epochs up to
  // `mini`.
  uint64_t EndOfMiniEpoch(uint64_t mini) const;
  // How often a mini-epoch comes in the parts [first, last) of this epoch: not
  // a whole number where the epoch begins or ends in the middle of it.
  double TimesShown(uint64_t mini, uint64_t first, uint64_t last) const;
  // Its records, ascending.
  std::vector<PartRecords::Run> RunsOf(uint64_t mini) const;

 protected:
  Sums SumsOf(uint64_t part) const override;
  uint64_t steps() const override { return Made().steps; }

 private:
  struct Part {
    uint32_t mini = 0;
    uint32_t repetition = 0;
    uint64_t window = 0;
    uint64_t from = 0;  // of the window's records, as they come
    uint64_t to = 0;
    uint64_t bytes = 0;  // 0: a share, which has to be summed up
    RandomKey key{0};    // of the repetition
  };
  struct Table {
    std::unique_ptr<const BlockPass> pass;
    std::vector<Part> parts;
    uint64_t steps = 0;
  };
  // A window whose records are all looked for.
  struct Window {
    uint64_t mini = 0;
    RandomKey key{0};
    uint64_t number = 0;
  };

  const Table& Made() const;
  void AppendRepetition(Table& table, const Part& of) const;
  // The keys of all repetitions of a mini-epoch.
  std::vector<RandomKey> KeysOf(const BlockPass& pass, uint64_t mini) const;
  std::vector<PartRecords::Run> BlocksOf(const BlockPass& pass,
                                         const Window& window) const;
  uint64_t WindowsOf(const BlockPass& pass, uint64_t mini) const;
  // The record that comes first, or last.
  uint64_t EndOf(const BlockPass& pass, const Window& window, bool last) const;

  // Constant after construction.
  const RecordTable& table_;
  const RecordRepeats repeats_;
  const std::vector<uint64_t> strata_;
  const RandomKey pass_key_;
  uint64_t block_bytes_;
  const uint64_t blocks_;  // of the table
  const uint64_t window_;  // blocks
  const uint64_t most_part_bytes_;

  Lazy<Table> made_;
  mutable std::atomic<bool> is_made_{false};
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_ORDER_REPEAT_ORDER_H_
