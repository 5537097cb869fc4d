// SPDX-License-Identifier: Apache-2.0
// The order of lirs with unit=page, and its listing. policies/lirs.h says what
// they are for.
//
// There are B blocks in device order, P = Permutation(B, keys.blocks), and W is
// the batch (at least 1). Slot s of the epoch holds block P(s). Batch c is the
// slots [c*W, (c+1)*W). Let m be the number of samples of batch c. Its t-th
// position holds the sample at offset Q(t) of its blocks, laid end to end in
// slot order, Q = Permutation(m, SubKey(keys.inside, c)).
//
// Immutable except for tables that the first lookup makes. Any thread may call,
// and waits while another makes them.
#ifndef SHUFFLEFS_POLICIES_PAGE_ORDER_H_
#define SHUFFLEFS_POLICIES_PAGE_ORDER_H_

#include <cstdint>
#include <vector>

#include "core/base/lazy.h"
#include "core/dataset/block_map.h"
#include "core/policy/policy.h"
#include "core/random/permutation.h"
#include "core/random/random.h"

namespace shufflefs {

struct PageOrderKeys {
  RandomKey blocks;    // the order of blocks
  RandomKey inside;    // the order in a batch
  RandomKey rotation;  // where the listing starts
};

// Blocks in an epoch's order. Slots and blocks are numbered from 0 to
// block_count() - 1.
class BlockSequence {
 public:
  // `blocks` may be null: every sample is its own block. Otherwise it outlives
  // this object.
  BlockSequence(const Stratum& stratum, uint64_t batch, RandomKey key);

  uint64_t sample_count() const { return sample_count_; }
  uint64_t slot_count() const { return permutation_.size(); }
  uint64_t batch_count() const;
  uint64_t BatchOf(uint64_t slot) const { return slot / batch_; }
  // Slots [first, last) of a batch.
  uint64_t FirstSlot(uint64_t batch) const { return batch * batch_; }
  uint64_t LastSlot(uint64_t batch) const;

  uint64_t BlockIn(uint64_t slot) const { return permutation_.Apply(slot); }
  uint64_t SlotOf(uint64_t block) const { return permutation_.Inverse(block); }
  uint64_t SizeOf(uint64_t slot) const;  // samples

  // Returns whether every block has one sample. Then slots are positions. True
  // if blocks() is null.
  bool singles() const {
    return blocks_ == nullptr || slot_count() == sample_count_;
  }
  const BlockMap* blocks() const { return blocks_; }

 private:
  const BlockMap* const blocks_;
  const uint64_t sample_count_;
  const Permutation permutation_;
  const uint64_t batch_;  // blocks, >= 1
};

class PageOrder : public Order {
 public:
  PageOrder(const Stratum& stratum, uint64_t batch, const PageOrderKeys& keys);

  uint64_t size() const override { return sequence_.sample_count(); }
  uint64_t SampleAt(uint64_t position) const override;
  uint64_t PositionOf(uint64_t sample) const override;

 private:
  const std::vector<uint32_t>& Starts() const;
  // The position of the first sample of a slot. For slot_count(): size().
  uint64_t StartOf(uint64_t slot) const;
  // The slot that holds `position` before samples are mixed.
  uint64_t SlotAt(uint64_t position) const;
  // The batch of a slot: where its samples begin, and how they are mixed.
  struct Batch {
    uint64_t begin;
    Permutation mix;
  };
  Batch BatchAround(uint64_t slot) const;
  std::vector<uint32_t> MakeStarts() const;

  // Constant after construction.
  const BlockSequence sequence_;
  const RandomKey inside_;
  // Self-synchronised. The first position of each slot, then size(). Never
  // made if sequence_.singles().
  const Lazy<std::vector<uint32_t>> starts_;
};

class PageListing : public Order {
 public:
  PageListing(const Stratum& stratum, uint64_t batch,
              const PageOrderKeys& keys);

  uint64_t size() const override { return sequence_.sample_count(); }
  uint64_t SampleAt(uint64_t position) const override;
  uint64_t PositionOf(uint64_t sample) const override;

 private:
  uint64_t Start() const;
  uint64_t FindStart() const;

  // Constant after construction.
  const BlockSequence sequence_;
  const RandomKey key_;
  // Self-synchronised.
  const Lazy<uint64_t> start_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_PAGE_ORDER_H_
