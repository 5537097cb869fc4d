// SPDX-License-Identifier: Apache-2.0
#include "core/dataset/block_map.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/status/status.h"

namespace shufflefs {

absl::StatusOr<BlockMap> BlockMap::Build(const std::vector<uint64_t>& addresses,
                                         uint64_t block_bytes) {
  if (block_bytes == 0) {
    return absl::InvalidArgumentError("a block of 0 bytes holds no sample");
  }
  if (addresses.size() > std::numeric_limits<uint32_t>::max()) {
    return absl::ResourceExhaustedError(
        "a block map holds at most 4294967295 samples");
  }
  const auto count = static_cast<uint32_t>(addresses.size());
  std::vector<std::pair<uint64_t, uint32_t>> sorted(count);
  for (uint32_t s = 0; s < count; ++s) sorted[s] = {addresses[s], s};
  std::sort(sorted.begin(), sorted.end());

  BlockMap map;
  map.sample_at_place_.resize(count);
  map.place_of_.resize(count);
  uint64_t last_block = 0;
  for (uint32_t place = 0; place < count; ++place) {
    const auto [address, sample] = sorted[place];
    map.sample_at_place_[place] = sample;
    map.place_of_[sample] = place;
    const uint64_t block = address / block_bytes;
    if (place == 0 || block != last_block) map.first_.push_back(place);
    last_block = block;
  }
  map.first_.push_back(count);
  map.first_.shrink_to_fit();
  return map;
}

uint64_t BlockMap::BlockOfPlace(uint64_t place) const {
  if (block_count() == sample_count()) return place;
  const auto next = std::upper_bound(first_.begin(), first_.end(), place);
  return static_cast<uint64_t>(next - first_.begin()) - 1;
}

uint64_t BlockMap::memory_bytes() const {
  return (sample_at_place_.capacity() + place_of_.capacity() +
          first_.capacity()) *
         sizeof(uint32_t);
}

}  // namespace shufflefs
