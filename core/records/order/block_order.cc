// SPDX-License-Identifier: Apache-2.0
#include "core/records/order/block_order.h"

#include <algorithm>
#include <utility>

#include "core/formats/record_math.h"
#include "core/records/order/window_mix.h"

namespace shufflefs {
namespace {

constexpr uint64_t kAnyBytes = ~uint64_t{0};

RecordBlocks Bounded(RecordBlocks blocks, const RecordTable& by) {
  if (by.count() > kMostInWindow) {
    const uint64_t most = kMostInWindow / blocks.bytes;
    blocks.window = std::clamp<uint64_t>(most, 1, blocks.window);
  }
  return blocks;
}

}  // namespace

BlockOrder::BlockOrder(const RecordTable& table, RecordBlocks blocks,
                       const RecordOrderOptions& options, uint64_t part_bytes)
    : table_(table),
      by_(options.order_by == nullptr ? table : *options.order_by),
      blocks_(Bounded(blocks, by_)),
      first_block_(by_.begin(0) / blocks.bytes),
      order_(DivideUp(by_.begin(by_.count()), blocks.bytes) - first_block_,
             DeriveKey(options.seed, options.epoch, options.key,
                       Purpose::kBlockOrder)),
      inside_(DeriveKey(options.seed, options.epoch, options.key,
                        Purpose::kInsideBlock)),
      of_a_file_(options.of_a_file && &by_ == &table_) {
  const uint64_t wanted = DivideUp(part_bytes, OwnBlockBytes());
  per_part_ = std::max<uint64_t>(DivideUp(wanted, blocks_.window), 1);
  const uint64_t window_blocks = std::min(blocks_.window, order_.size());
  const uint64_t most = std::max<uint64_t>(options.most_part_bytes, 1);
  // Divided instead of multiplied, so that nothing overflows.
  uint64_t shares = 1;
  if (window_blocks > most / OwnBlockBytes()) {
    shares =
        DivideUp(window_blocks, std::max<uint64_t>(most / OwnBlockBytes(), 1));
  }
  shares = std::max(
      shares, DivideUp(MeanRecords(window_blocks), MostRecordsOfPart(most)));
  if (shares > 1 && !options.records_are_blocks) {
    per_part_ = 1;
    shares_ = std::min(shares, std::max<uint64_t>(table.count(), 1));
  }
}

uint64_t BlockOrder::MeanRecords(uint64_t blocks) const {
  if (order_.size() == 0) return 0;
  return std::min(table_.count(),
                  DivideUp(table_.count(), order_.size()) * blocks);
}

uint64_t BlockOrder::OwnBlockBytes() const {
  if (&by_ == &table_) return blocks_.bytes;
  const uint64_t blocks = std::max<uint64_t>(order_.size(), 1);
  return std::max<uint64_t>(DivideUp(BytesOfAll(table_), blocks), 1);
}

uint64_t BlockOrder::ahead_bytes() const {
  if (!of_a_file_) return kAnyBytes;  // nobody keeps pieces
  const uint64_t blocks = std::max(kAheadBlocks, blocks_.window);
  return blocks_.bytes > kAnyBytes / blocks ? kAnyBytes
                                            : blocks_.bytes * blocks;
}

uint64_t BlockOrder::windows() const {
  return DivideUp(order_.size(), blocks_.window);
}

uint64_t BlockOrder::part_count() const {
  return DivideUp(windows(), per_part_) * shares_;
}

BlockOrder::Run BlockOrder::RunOf(uint64_t block) const {
  const uint64_t from = (first_block_ + block) * blocks_.bytes;
  const uint64_t to = from + blocks_.bytes;
  const uint64_t first = by_.FirstFrom(from);
  const uint64_t last = by_.FirstFrom(to);
  Run run{first, last};
  if (of_a_file_) run = {first, last, from, to};
  if (first > 0) {
    // The record before these may end here but begin in another block.
    const uint64_t end = by_.begin(first);
    const bool ends_here = end > from && end <= to;
    if (ends_here && IsLater(block, BlockOf(by_.begin(first - 1)))) --run.first;
  }
  if (first < last) {
    const uint64_t end = by_.begin(last);
    if (end > to && IsLater(BlockOf(end - 1), block)) --run.last;
  }
  return run;
}

std::vector<BlockSlot> BlockOrder::SlotsOf(uint64_t first,
                                           uint64_t last) const {
  const uint64_t end = std::min(last * blocks_.window, order_.size());
  std::vector<BlockSlot> slots;
  slots.reserve(end - first * blocks_.window);
  uint64_t records = 0;
  for (uint64_t at = first * blocks_.window; at < end; ++at) {
    slots.push_back({RunOf(order_(at)), records});
    records += slots.back().run.size();
  }
  return slots;
}

PartRecords BlockOrder::WindowsOf(uint64_t first, uint64_t last) const {
  last = std::min(last, windows());
  std::vector<BlockSlot> slots = SlotsOf(first, last);
  const uint64_t all = RecordsOfSlots(slots);
  std::vector<uint32_t> mixed(all);  // by record, as the blocks come
  for (uint64_t w = first, s = 0; w < last; ++w, s += blocks_.window) {
    const uint64_t next = s + blocks_.window;
    const uint64_t end = next < slots.size() ? slots[next].begin : all;
    MixWindow(SubKey(inside_, w), slots[s].begin, end - slots[s].begin, mixed);
  }
  return PartOfSlots(std::move(slots), mixed);
}

PartRecords BlockOrder::ShareOf(uint64_t part) const {
  const uint64_t window = part / shares_;
  const uint64_t share = part % shares_;
  const std::vector<BlockSlot> slots = SlotsOf(window, window + 1);
  const uint64_t all = RecordsOfSlots(slots);
  return ShareOfWindow(slots, SubKey(inside_, window), all * share / shares_,
                       all * (share + 1) / shares_);
}

PartRecords BlockOrder::RecordsOf(uint64_t part) const {
  if (shares_ > 1) return ShareOf(part);
  return WindowsOf(part * per_part_, (part + 1) * per_part_);
}

RecordOrder::Sums BlockOrder::SumsOfBlocks(uint64_t first_window,
                                           uint64_t last_window) const {
  const uint64_t end = std::min(last_window * blocks_.window, order_.size());
  Sums sums;
  for (uint64_t slot = first_window * blocks_.window; slot < end; ++slot) {
    const Run run = RunOf(order_(slot));
    sums.bytes += table_.begin(run.last) - table_.begin(run.first);
    sums.records += run.size();
  }
  return sums;
}

RecordOrder::Sums BlockOrder::SumsOfShare(uint64_t part) const {
  Sums sums;
  for (const Run& run : ShareOf(part).runs) {
    sums.bytes += table_.begin(run.last) - table_.begin(run.first);
    sums.records += run.size();
  }
  return sums;
}

RecordOrder::Sums BlockOrder::SumsOf(uint64_t part) const {
  if (shares_ > 1) return SumsOfShare(part);
  return SumsOfBlocks(part * per_part_, (part + 1) * per_part_);
}

uint64_t BlockOrder::steps() const {
  return shares_ > 1 ? table_.count() : order_.size();
}

}  // namespace shufflefs
