// SPDX-License-Identifier: Apache-2.0
// RepeatOrder shows mini-epochs of blocks of a container (MET). A pass over its
// records shows each mini-epoch `factor` times in succession and lasts `factor`
// epochs. Each epoch shows as many records as there are. So over a pass every
// record comes `factor` times. In one epoch some come several times and others
// not at all.
//
// Mini-epoch m of the pass (core/records/order/block_pass.h) in its repetition
// r has its blocks in the order P = Permutation(blocks, SubKey(K, 0)). The
// records of each window of them are mixed, as in
// core/records/order/block_order.h, with SubKey(K, 1 + window). K =
// SubKey(SubKey(SubKey(pass, 2 + m), r), salt), pass = SubKey(DeriveKey(seed,
// epoch 0, key, kMiniEpoch), number of the pass). The salt is the first of 0,
// 1, … with which no record follows itself, because readers of archives take
// successive equal names for one record.
//
// A window is the policy's number of blocks, or 1 MiB of them if that is more.
// If the mini-epoch is no larger, this is a full shuffle. A part is a window,
// or an equal share of its records if it is larger than a part may be.
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

// See RecordOrder. The first call composes the pass: about 0.5 us per block.
class RepeatOrder : public RecordOrder {
 public:
  // The table, which is not empty, outlives the order.
  RepeatOrder(const RecordTable& table, RecordBlocks blocks,
              RecordRepeats repeats, const RecordOrderOptions& options);

  uint64_t part_count() const override { return Made().parts.size(); }
  PartRecords RecordsOf(uint64_t part) const override;
  bool is_quick() const override;
  const RepeatOrder* repeats() const override { return this; }

  // Of the pass: a multiple of the factor. With few blocks there are fewer than
  // requested.
  uint64_t mini_epochs() const { return Made().pass->mini_epochs(); }
  const RecordRepeats& options() const { return repeats_; }
  // REQUIRES: part < part_count().
  uint64_t MiniEpochOf(uint64_t part) const { return Made().parts[part].mini; }
  uint64_t RepetitionOf(uint64_t part) const {
    return Made().parts[part].repetition;
  }
  // The end of the parts of this epoch with mini-epochs up to `mini`.
  uint64_t EndOfMiniEpoch(uint64_t mini) const;
  // How often a mini-epoch comes in the parts [first, last) of this epoch. Not
  // a whole number if the epoch begins or ends in the middle of it.
  double TimesShown(uint64_t mini, uint64_t first, uint64_t last) const;
  // The records of a mini-epoch, in ascending order.
  std::vector<PartRecords::Run> RunsOf(uint64_t mini) const;

 protected:
  Sums SumsOf(uint64_t part) const override;
  uint64_t steps() const override { return Made().steps; }

 private:
  struct Part {
    uint32_t mini = 0;
    uint32_t repetition = 0;
    uint64_t window = 0;
    uint64_t from = 0;  // of the window's records in their order
    uint64_t to = 0;
    uint64_t bytes = 0;  // 0: a share, whose bytes must be summed up
    RandomKey key{0};    // of the repetition
  };
  struct Table {
    std::unique_ptr<const BlockPass> pass;
    std::vector<Part> parts;
    uint64_t steps = 0;
  };
  // A window whose records are all wanted.
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
  const uint64_t blocks_;  // in the table
  const uint64_t window_;  // blocks
  const uint64_t most_part_bytes_;

  Lazy<Table> made_;
  mutable std::atomic<bool> is_made_{false};
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_ORDER_REPEAT_ORDER_H_
