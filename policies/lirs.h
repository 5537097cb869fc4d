// SPDX-License-Identifier: Apache-2.0
// lirs: a full random shuffle without pre-processing, after Ke, Cheng, Yang,
// "LIRS: Enabling efficient machine learning on NVM-based storage via a
// lightweight implementation of random shuffling", arXiv:1810.04509 (2018).
//
// unit=instance (the paper's random shuffling of the whole data set)
//   Guarantees: each epoch is an independent uniform-looking permutation of
//     all samples.
//   Read pattern: one random read per sample. Right where those are cheap:
//     flash, NVM, memory. On a disk that seeks it is slower than no shuffle.
//   Memory: O(1); the paper's random assignment table takes 8 bytes per
//     sample. Cost: about 10 to 30 ns per lookup, in either direction.
//   Listing: another permutation.
//
// unit=page (the paper's page-aware random shuffling)
//   Guarantees: blocks (samples that start in the same lirs.page bytes of the
//     device) come in random order. With lirs.batch = W > 1 the samples of W
//     consecutive blocks of that order are shuffled among each other, else
//     those of one block. The samples of any block are in one such batch, so a
//     reader that holds W pages reads every page once. Samples of different
//     batches never mix within an epoch. Larger pages read faster, larger
//     batches mix better.
//   Read pattern: random pages, whole pages.
//   Memory: the stratum's BlockMap, and 4 bytes per block per order (none if
//     every sample is its own block).
//   Cost: making an order is O(1). Its first lookup sums up the sizes of all
//     blocks, about 25 ns per block. Each lookup costs two permutations and a
//     binary search, 0.1 to 0.4 us.
//   Listing: a rotation that starts at the first sample of a random batch, or
//     anywhere if there is only one batch.
//   A stratum without blocks is ordered like one in which every sample is its
//     own block in path order.
#ifndef SHUFFLEFS_POLICIES_LIRS_H_
#define SHUFFLEFS_POLICIES_LIRS_H_

#include <cstdint>
#include <memory>

#include "core/policy/policy_entry.h"

namespace shufflefs {

extern const PolicyEntry kLirsEntry;

struct LirsOptions {
  enum class Unit { kInstance, kPage };
  Unit unit = Unit::kInstance;
  uint64_t page = 4096;  // bytes, a power of two, 4 KiB..16 MiB
  uint64_t batch = 0;    // pages mixed with each other; 0 = 1 page

  static LirsOptions Of(const PolicyOptions& options);
};

class LirsPolicy : public Policy {
 public:
  explicit LirsPolicy(const LirsOptions& options) : options_(options) {}

  absl::string_view name() const override { return "lirs"; }
  Consumption consumption() const override { return Consumption::kPlanned; }
  bool wants_blocks() const override;
  uint64_t block_bytes() const override;
  bool shuffles_records() const override { return true; }
  RecordBlocks record_blocks() const override;
  std::unique_ptr<const Order> MakeOrder(const Stratum& stratum, Seed seed,
                                         Epoch epoch) const override;
  std::unique_ptr<const Order> MakeListing(const Stratum& stratum, Seed seed,
                                           Epoch epoch) const override;

 private:
  const LirsOptions options_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_LIRS_H_
