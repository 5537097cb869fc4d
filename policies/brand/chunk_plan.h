// SPDX-License-Identifier: Apache-2.0
// ChunkPlan says in which order an epoch's chunks are fetched. If nothing of a
// name's group is in memory, it also says which sample the name gets: one of
// the earliest chunk.
//
// There are two kinds, depending on the chunks:
//   Chunks that mix groups come in the epoch's order, because each brings a bit
//     of everything. If memory holds only a few samples of each group, the plan
//     chooses among the next few chunks (a fifth of all, at most 64). It takes
//     the one that has most for groups that have nothing in memory (1,000
//     groups of 20, memory for 4,500 samples: 2 % instead of 4.3 % of the
//     samples are read alone).
//   Chunks of one group each (adjacent files in class folders) come in the
//     epoch's order within their group. The next chunk is always of the group
//     with the smallest share in memory of what it still has to show, because
//     it would run out first. Ties, as all are at an epoch's start, are broken
//     at random.
// Not thread-safe.
#ifndef SHUFFLEFS_POLICIES_BRAND_CHUNK_PLAN_H_
#define SHUFFLEFS_POLICIES_BRAND_CHUNK_PLAN_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/random/random.h"
#include "policies/sample_table.h"

namespace shufflefs {

class ChunkPlan {
 public:
  static constexpr uint32_t kNone = 0xFFFFFFFF;

  virtual ~ChunkPlan() = default;
  // Begins a new order, Permutation(chunks, key). All chunks are still to come.
  virtual void BeginEpoch(RandomKey key) = 0;
  // All chunks, in the order of an epoch with that key if nothing is in memory
  // and readers ask equally for all groups.
  virtual std::vector<uint32_t> BeginningOf(RandomKey key) const = 0;
  // The chunk to fetch next, or kNone if all were passed.
  virtual uint32_t Next() = 0;
  // Call it when nothing is left to fetch of `chunk`, which Next returned.
  virtual void Pass(uint32_t chunk) = 0;
  // A sample of `group` that is not bound, from the earliest chunk that has
  // one. REQUIRES: there is one, and none of them is held.
  virtual uint32_t Earliest(uint32_t group) = 0;
  // Call it when what a group has in memory, or to show, has changed.
  virtual void Changed(uint32_t group) = 0;
  // Whether all samples of a chunk are of one group.
  virtual bool one_group_each() const = 0;
};

// `chunks` as in BinderInput. They and the table outlive the plan.
// `memory_samples`: about how many samples fit into memory.
std::unique_ptr<ChunkPlan> MakeChunkPlan(
    const std::vector<std::vector<uint32_t>>& chunks, const SampleTable& table,
    uint64_t memory_samples);

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_BRAND_CHUNK_PLAN_H_
