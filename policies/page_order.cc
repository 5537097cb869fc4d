// SPDX-License-Identifier: Apache-2.0
#include "policies/page_order.h"

#include <algorithm>

#include "policies/basic_orders.h"

namespace shufflefs {

BlockSequence::BlockSequence(const Stratum& stratum, uint64_t batch,
                             RandomKey key)
    : blocks_(stratum.blocks),
      sample_count_(stratum.size),
      permutation_(blocks_ ? blocks_->block_count() : stratum.size, key),
      batch_(std::max<uint64_t>(batch, 1)) {}

uint64_t BlockSequence::batch_count() const {
  const uint64_t whole = slot_count() / batch_;
  return whole + (slot_count() % batch_ != 0);
}

uint64_t BlockSequence::LastSlot(uint64_t batch) const {
  const uint64_t first = FirstSlot(batch);
  return first + std::min(batch_, slot_count() - first);
}

uint64_t BlockSequence::SizeOf(uint64_t slot) const {
  return singles() ? 1 : blocks_->size(BlockIn(slot));
}

PageOrder::PageOrder(const Stratum& stratum, uint64_t batch,
                     const PageOrderKeys& keys)
    : sequence_(stratum, batch, keys.blocks), inside_(keys.inside) {}

std::vector<uint32_t> PageOrder::MakeStarts() const {
  // Positions fit into 32 bits, because a BlockMap has fewer than 2^32 samples.
  std::vector<uint32_t> starts(sequence_.slot_count() + 1);
  uint64_t start = 0;
  for (uint64_t slot = 0; slot < sequence_.slot_count(); ++slot) {
    starts[slot] = static_cast<uint32_t>(start);
    start += sequence_.SizeOf(slot);
  }
  starts.back() = static_cast<uint32_t>(start);
  return starts;
}

const std::vector<uint32_t>& PageOrder::Starts() const {
  return starts_.Get([this] { return MakeStarts(); });
}

uint64_t PageOrder::StartOf(uint64_t slot) const {
  return sequence_.singles() ? slot : Starts()[slot];
}

uint64_t PageOrder::SlotAt(uint64_t position) const {
  if (sequence_.singles()) return position;
  const std::vector<uint32_t>& starts = Starts();
  const auto next = std::upper_bound(starts.begin(), starts.end(), position);
  return static_cast<uint64_t>(next - starts.begin()) - 1;
}

PageOrder::Batch PageOrder::BatchAround(uint64_t slot) const {
  const uint64_t batch = sequence_.BatchOf(slot);
  const uint64_t begin = StartOf(sequence_.FirstSlot(batch));
  const uint64_t end = StartOf(sequence_.LastSlot(batch));
  return {begin, Permutation(end - begin, SubKey(inside_, batch))};
}

uint64_t PageOrder::SampleAt(uint64_t position) const {
  const Batch batch = BatchAround(SlotAt(position));
  const uint64_t laid = batch.begin + batch.mix.Apply(position - batch.begin);
  const uint64_t slot = SlotAt(laid);
  const uint64_t block = sequence_.BlockIn(slot);
  const BlockMap* blocks = sequence_.blocks();
  if (blocks == nullptr) return block;
  return blocks->SampleAtPlace(blocks->first(block) + (laid - StartOf(slot)));
}

uint64_t PageOrder::PositionOf(uint64_t sample) const {
  const BlockMap* blocks = sequence_.blocks();
  const uint64_t place = blocks ? blocks->PlaceOf(sample) : sample;
  const uint64_t block = blocks ? blocks->BlockOfPlace(place) : sample;
  const uint64_t offset = blocks ? place - blocks->first(block) : 0;
  const uint64_t slot = sequence_.SlotOf(block);
  const Batch batch = BatchAround(slot);
  const uint64_t laid = StartOf(slot) + offset;
  return batch.begin + batch.mix.Inverse(laid - batch.begin);
}

PageListing::PageListing(const Stratum& stratum, uint64_t batch,
                         const PageOrderKeys& keys)
    : sequence_(stratum, batch, keys.blocks), key_(keys.rotation) {}

uint64_t PageListing::FindStart() const {
  Rng rng(key_);
  const uint64_t batches = sequence_.batch_count();
  if (batches == 1) return rng.Bounded(size());
  const uint64_t slot = sequence_.FirstSlot(rng.Bounded(batches));
  if (sequence_.singles()) return slot;
  uint64_t start = 0;
  for (uint64_t s = 0; s < slot; ++s) start += sequence_.SizeOf(s);
  return start;
}

uint64_t PageListing::Start() const {
  return start_.Get([this] { return FindStart(); });
}

uint64_t PageListing::SampleAt(uint64_t position) const {
  return RotationOrder(size(), Start()).SampleAt(position);
}

uint64_t PageListing::PositionOf(uint64_t sample) const {
  return RotationOrder(size(), Start()).PositionOf(sample);
}

}  // namespace shufflefs
