// SPDX-License-Identifier: Apache-2.0
// In which order an epoch's chunks are fetched, and which sample a name gets
// when nothing of its group is in memory: one of the earliest chunk.
//
// Two kinds, by what the chunks are:
//   Chunks that mix groups come in the epoch's order: each brings a bit of
//     everything. Where memory holds only a few samples of each group, next is
//     the one of the next few (a fifth of all, at most 64) that has most for
//     groups that have nothing in memory (1,000 groups of 20, memory for 4,500
//     samples: 2 % instead of 4.3 % of the samples are read alone).
//   Chunks of one group each (files that lie together in class folders) come
//     in the epoch's order within their group, and next is always the group
//     with the least in memory of what it still has to show: it would run out
//     first. Ties, at an epoch's start all, are broken at random.
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
  // A new order, Permutation(chunks, key); all chunks are to come.
  virtual void BeginEpoch(RandomKey key) = 0;
  // All chunks, as an epoch of that key begins where nothing is in memory and
  // every group is asked for alike.
  virtual std::vector<uint32_t> BeginningOf(RandomKey key) const = 0;
  // The chunk to fetch next; kNone when all were passed.
  virtual uint32_t Next() = 0;
  // Nothing of `chunk`, which Next gave, is left to fetch.
  virtual void Pass(uint32_t chunk) = 0;
  // A sample of `group` that is not bound, from the earliest chunk that has
  // one. REQUIRES: there is one, and none that is held.
  virtual uint32_t Earliest(uint32_t group) = 0;
  // What a group has in memory, or to show, has changed.
  virtual void Changed(uint32_t group) = 0;
};

// `chunks` as in BinderInput; they and the table outlive the plan.
// `memory_samples`: how many samples fit into memory, about.
std::unique_ptr<ChunkPlan> MakeChunkPlan(
    const std::vector<std::vector<uint32_t>>& chunks, const SampleTable& table,
    uint64_t memory_samples);

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_BRAND_CHUNK_PLAN_H_
