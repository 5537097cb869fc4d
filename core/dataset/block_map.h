// SPDX-License-Identifier: Apache-2.0
// BlockMap says which samples of a stratum are together on the device. Samples
// are sorted by their device address (ties: by sample). Samples whose addresses
// fall into the same `block_bytes` bytes form one block. A sample's index in
// that sorted order is its place; a block is a run of adjacent places. A sample
// belongs to the block in which it starts (LIRS paper, page-aware random
// shuffling).
//
// Memory: 8 bytes per sample and 4 bytes per block. Immutable; any thread may
// call; no call blocks.
#ifndef SHUFFLEFS_CORE_DATASET_BLOCK_MAP_H_
#define SHUFFLEFS_CORE_DATASET_BLOCK_MAP_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

namespace shufflefs {

class BlockMap {
 public:
  // addresses[sample] is the device address of the sample's first byte.
  // Errors: InvalidArgument if block_bytes is 0; ResourceExhausted for 2^32
  // samples or more.
  [[nodiscard]] static absl::StatusOr<BlockMap> Build(
      const std::vector<uint64_t>& addresses, uint64_t block_bytes);

  uint64_t sample_count() const { return sample_at_place_.size(); }
  // 0 only if there are no samples. No block is empty.
  uint64_t block_count() const { return first_.size() - 1; }

  // The first place of a block, and its number of samples. Blocks are numbered
  // by ascending address. REQUIRES: block < block_count().
  uint64_t first(uint64_t block) const { return first_[block]; }
  uint64_t size(uint64_t block) const {
    return first_[block + 1] - first_[block];
  }

  // REQUIRES: arguments < sample_count().
  uint64_t SampleAtPlace(uint64_t place) const {
    return sample_at_place_[place];
  }
  uint64_t PlaceOf(uint64_t sample) const { return place_of_[sample]; }
  // A binary search, unless every sample is a block by itself.
  uint64_t BlockOfPlace(uint64_t place) const;

  // Bytes that the tables take.
  uint64_t memory_bytes() const;

 private:
  BlockMap() = default;

  // Constant after Build.
  std::vector<uint32_t> sample_at_place_;
  std::vector<uint32_t> place_of_;  // by sample
  std::vector<uint32_t> first_;     // by block, then sample_count()
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_DATASET_BLOCK_MAP_H_
