// SPDX-License-Identifier: Apache-2.0
// The Brand paper's abstract memory (arXiv:2505.16280, section 3): which
// samples share a memory location.
//
// Chunks are put together into chunk groups of k, at random and for good. A
// chunk group owns a set of memory locations; each sample of its chunks
// belongs to one of them, and no two samples of one chunk to the same. The
// samples of a location are its column: whichever of them is there answers a
// request for any of them.
//
// In the paper any sample may stand in for any other, so a chunk's j-th
// sample belongs to the j-th location. Here labels must stay right: a column
// holds samples of one group only. The j-th sample of a group in a chunk
// belongs to the group's j-th location, so columns are ragged, and a chunk
// group has more locations than a chunk has samples. With one group it is the
// paper's.
//
// k is the smallest for which all locations fit into memory (each takes as
// much as the largest sample of its column), at most 256; where even that is
// too much, the locations that are left over have no memory, and requests for
// them are answered by reading just that sample.
//
// 12 bytes a sample. Immutable; any thread may call.
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
  static constexpr uint32_t kMostChunks = 256;  // of a chunk group

  LocationMap(const BinderInput& input, const SampleTable& table);

  // Chunks of a chunk group; the last may have fewer.
  uint32_t group_chunks() const { return group_chunks_; }
  uint32_t location_count() const {
    return static_cast<uint32_t>(column_.size() - 1);
  }
  // The samples of a location, in the order of their chunks.
  absl::Span<const uint32_t> column(uint32_t location) const {
    return absl::MakeConstSpan(samples_).subspan(
        column_[location], column_[location + 1] - column_[location]);
  }
  uint32_t location_of(uint32_t sample) const { return location_of_[sample]; }
  uint32_t chunk_of(uint32_t sample) const { return chunk_of_[sample]; }
  bool has_memory(uint32_t location) const { return has_memory_[location]; }

 private:
  // Numbers the locations of chunk groups of `k` chunks and returns the bytes
  // that they take together.
  uint64_t Assign(const BinderInput& input, const SampleTable& table,
                  uint32_t k);
  void MakeColumns();
  void LimitMemory(const BinderInput& input);

  // Constant after construction.
  uint32_t group_chunks_ = 1;
  std::vector<uint32_t> order_;  // chunks, chunk group by chunk group
  std::vector<uint32_t> chunk_of_;
  std::vector<uint32_t> location_of_;  // by sample
  std::vector<uint64_t> bytes_;        // by location
  std::vector<uint32_t> column_;       // by location: its first in samples_
  std::vector<uint32_t> samples_;
  std::vector<bool> has_memory_;  // by location
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_BRAND_LOCATION_MAP_H_
