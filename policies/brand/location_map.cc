// SPDX-License-Identifier: Apache-2.0
#include "policies/brand/location_map.h"

#include <algorithm>
#include <numeric>

#include "core/random/permutation.h"
#include "core/random/random.h"

namespace shufflefs {

LocationMap::LocationMap(const BinderInput& input, const SampleTable& table)
    : order_(input.chunks.size()),
      place_(input.chunks.size()),
      chunk_of_(table.size()),
      location_of_(table.size(), SampleTable::kNone) {
  for (uint32_t c = 0; c < input.chunks.size(); ++c) {
    for (const uint32_t sample : input.chunks[c]) chunk_of_[sample] = c;
  }
  const Permutation order(
      order_.size(),
      DeriveKey(Seed(0), Epoch(0), input.dataset_key, Purpose::kComposition));
  for (size_t i = 0; i < order_.size(); ++i) {
    order_[i] = static_cast<uint32_t>(order(i));
    place_[order_[i]] = static_cast<uint32_t>(i);
  }
  uint32_t least = 1;
  uint32_t most =
      static_cast<uint32_t>(std::clamp<size_t>(order_.size(), 1, kMostChunks));
  while (least < most) {
    const uint32_t middle = least + (most - least) / 2;
    if (Assign(input, table, middle) <= input.memory_bytes) {
      most = middle;
    } else {
      least = middle + 1;
    }
  }
  group_chunks_ = least;
  Assign(input, table, least);
  MakeColumns();
  LimitMemory(input);
}

uint64_t LocationMap::Assign(const BinderInput& input, const SampleTable& table,
                             uint32_t k) {
  constexpr uint32_t kNever = 0xFFFFFFFF;
  // By group of samples: its locations in this chunk group, and how many of
  // them this chunk has used.
  struct Group {
    uint32_t chunk_group = kNever;
    std::vector<uint32_t> locations;
    uint32_t chunk = kNever;
    uint32_t used = 0;
  };
  std::vector<Group> groups(table.group_count());
  bytes_.clear();
  for (size_t i = 0; i < order_.size(); ++i) {
    const auto chunk_group = static_cast<uint32_t>(i / k);
    for (const uint32_t sample : input.chunks[order_[i]]) {
      Group& group = groups[table.group_of(sample)];
      if (group.chunk_group != chunk_group) {
        group.chunk_group = chunk_group;
        group.locations.clear();
      }
      if (group.chunk != i) {
        group.chunk = static_cast<uint32_t>(i);
        group.used = 0;
      }
      if (group.used == group.locations.size()) {
        group.locations.push_back(static_cast<uint32_t>(bytes_.size()));
        bytes_.push_back(0);
      }
      const uint32_t location = group.locations[group.used++];
      location_of_[sample] = location;
      bytes_[location] = std::max(bytes_[location], input.bytes[sample]);
    }
  }
  return std::accumulate(bytes_.begin(), bytes_.end(), uint64_t{0});
}

void LocationMap::MakeColumns() {
  column_.assign(bytes_.size() + 1, 0);
  size_t samples = 0;
  for (const uint32_t location : location_of_) {
    if (location == SampleTable::kNone) continue;
    ++column_[location + 1];
    ++samples;
  }
  std::partial_sum(column_.begin(), column_.end(), column_.begin());
  std::vector<uint32_t> at(column_.begin(), column_.end() - 1);
  samples_.resize(samples);
  for (uint32_t s = 0; s < location_of_.size(); ++s) {
    if (has(s)) samples_[at[location_of_[s]]++] = s;
  }
  for (size_t l = 0; l + 1 < column_.size(); ++l) {
    std::sort(samples_.begin() + column_[l], samples_.begin() + column_[l + 1],
              [&](uint32_t a, uint32_t b) {
                return place_[chunk_of_[a]] < place_[chunk_of_[b]];
              });
  }
}

void LocationMap::LimitMemory(const BinderInput& input) {
  has_memory_.assign(bytes_.size(), true);
  uint64_t used = 0;
  for (size_t l = 0; l < bytes_.size(); ++l) {
    has_memory_[l] = used + bytes_[l] <= input.memory_bytes;
    if (has_memory_[l]) used += bytes_[l];
  }
}

}  // namespace shufflefs
