// SPDX-License-Identifier: Apache-2.0
// LocationMap is the abstract memory of the Brand paper (arXiv:2505.16280,
// section 3). It says which samples share a memory location.
//
// Chunks are combined into chunk groups of k, at random and permanently. A
// chunk group owns a set of memory locations. Each sample of its chunks belongs
// to one of them, and no two samples of one chunk belong to the same. The
// samples of a location are its column: any of them that is in memory answers a
// request for any of them.
//
// In the paper any sample may stand in for any other, so a chunk's j-th sample
// belongs to the j-th location. Here labels must stay correct, so a column
// holds samples of one group only. The j-th sample of a group in a chunk
// belongs to the group's j-th location. So columns have different lengths, and
// a chunk group has more locations than a chunk has samples. With one group it
// is the paper's map.
//
// k is the smallest number with which all locations fit into memory (each takes
// as much as the largest sample of its column), but at most 256. If even that
// does not fit, the remaining locations have no memory; a request for one of
// them reads just that sample.
//
// A node of several has a map of the chunks that it owns. So the maps of all
// nodes are the paper's: each location has an owner, which alone reads the
// chunks behind it. Samples of other chunks have no location.
//
// 12 bytes per sample. Immutable; any thread may call.
#ifndef SHUFFLEFS_POLICIES_BRAND_LOCATION_MAP_H_
#define SHUFFLEFS_POLICIES_BRAND_LOCATION_MAP_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/policy/binder.h"
#include "policies/sample_table.h"

namespace shufflefs {

class LocationMap {
 public:
  static constexpr uint32_t kMostChunks = 256;  // per chunk group

  LocationMap(const BinderInput& input, const SampleTable& table);

  uint32_t location_count() const {
    return static_cast<uint32_t>(column_.size() - 1);
  }
  // The samples of a location, in the order of their chunks.
  absl::Span<const uint32_t> column(uint32_t location) const {
    return absl::MakeConstSpan(samples_).subspan(
        column_[location], column_[location + 1] - column_[location]);
  }
  // Returns whether the sample is in one of the chunks. REQUIRED by the others.
  bool has(uint32_t sample) const {
    return location_of_[sample] != SampleTable::kNone;
  }
  uint32_t location_of(uint32_t sample) const { return location_of_[sample]; }
  uint32_t chunk_of(uint32_t sample) const { return chunk_of_[sample]; }
  bool has_memory(uint32_t location) const { return has_memory_[location]; }
  // The chunk group that owns a location.
  uint32_t chunk_group_of(uint32_t location) const {
    return place_[chunk_of_[column(location).front()]] / group_chunks_;
  }

 private:
  // Numbers the locations of chunk groups of `k` chunks. Returns the bytes that
  // all locations take.
  uint64_t Assign(const BinderInput& input, const SampleTable& table,
                  uint32_t k);
  void MakeColumns();
  void LimitMemory(const BinderInput& input);

  // Constant after construction.
  uint32_t group_chunks_ = 1;    // the last group may have fewer
  std::vector<uint32_t> order_;  // chunks, chunk group by chunk group
  std::vector<uint32_t> place_;  // by chunk: its place in order_
  std::vector<uint32_t> chunk_of_;
  std::vector<uint32_t> location_of_;  // by sample
  std::vector<uint64_t> bytes_;        // by location
  std::vector<uint32_t> column_;       // by location: its first in samples_
  std::vector<uint32_t> samples_;
  std::vector<bool> has_memory_;  // by location
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_BRAND_LOCATION_MAP_H_
