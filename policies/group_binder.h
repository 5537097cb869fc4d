// SPDX-License-Identifier: Apache-2.0
// brand.binding = group: a name shows a random sample of its group that is in
// memory and not shown yet; else a random one on its way; else, a miss, one of
// the earliest planned chunk that has one.
//
// What the Brand paper asks for (arXiv:2505.16280: batched reads, substitutable
// returns, nothing evicted before it is consumed) without its memory
// locations: any sample of the group serves any of its names, so no chunk is
// ever read twice in an epoch.
//
// Guarantees, whatever the order of calls: within an epoch names and samples
// of each group are one to one; a sample is fetched at most once for an epoch.
// Order: chunks are fetched in a random order (policies/chunk_plan.h), a new
// one each epoch, and samples drawn at random from what is in memory.
// Memory: about 33 bytes a sample beside BinderInput. Cost: Bind is O(1), some
// 100 ns, amortised over an epoch; BeginEpoch linear, a few ns a sample.
//
// When all of an epoch is fetched, NextFetch goes on with the next epoch's
// chunks in that epoch's order, each once, but only with samples that this
// epoch has done with; the others of these chunks come first when it begins.
// (To wait for whole chunks would save a fifth of the loads, but chunks that
// come early in one epoch would then come early in the next.)
//
// A sample of more than a quarter of the memory is never fetched into it: its
// reader reads it alone.
#ifndef SHUFFLEFS_POLICIES_GROUP_BINDER_H_
#define SHUFFLEFS_POLICIES_GROUP_BINDER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/permutation.h"
#include "core/random.h"
#include "core/supply/binder.h"
#include "policies/chunk_plan.h"
#include "policies/sample_table.h"

namespace shufflefs {

class GroupBinder : public Binder {
 public:
  // Before the first BeginEpoch it is as if epoch 0 of seed 0 had begun.
  // `input` outlives the binder.
  explicit GroupBinder(const BinderInput& input);

  void BeginEpoch(Seed seed, Epoch epoch,
                  absl::Span<const CarriedPair> bound) override;
  SampleId Bind(SampleId name) override;
  absl::optional<SampleId> Bound(SampleId name) const override;
  absl::optional<SampleId> NameOf(SampleId sample) const override;
  uint64_t bound_count() const override { return table_.bound_count(); }
  std::vector<SampleId> NextFetch(uint64_t room) override;
  std::vector<SampleId> FetchChunkOf(SampleId sample, uint64_t room) override;
  void FetchedAlone(SampleId sample) override;
  void Arrived(SampleId sample) override;
  void Left(SampleId sample) override;
  bool fetched_all() const override { return fetched_all_; }
  bool fetched_ahead(SampleId sample) const override;
  BinderCounts counts() const override { return counts_; }

 private:
  // What is to be fetched of a chunk.
  struct Load {
    std::vector<SampleId> samples;
    uint64_t bytes = 0;
    bool empty() const { return samples.empty(); }
  };
  enum class For { kThisEpoch, kNextEpoch };

  bool Wanted(uint32_t sample, For epoch) const;
  // All that is wanted of a chunk, or, where that is more than piece_bytes_,
  // a piece: it holds `with`, or begins where the chunk does.
  Load WantedOf(uint32_t chunk, For epoch,
                uint32_t with = SampleTable::kNone) const;
  std::vector<SampleId> Begin(Load load);
  // Passes chunks of which nothing is wanted.
  void Settle();
  std::vector<SampleId> NextAhead(uint64_t room);
  void Changed(uint32_t sample);

  // Constant after construction.
  const BinderInput& input_;
  const uint64_t piece_bytes_;      // read at a time, at most
  std::vector<uint32_t> chunk_of_;  // by sample

  SampleTable table_;
  std::unique_ptr<ChunkPlan> plan_;
  Rng rng_;
  bool fetched_all_ = false;
  // The next epoch's order, and the chunks of it that were looked at.
  Permutation next_order_;
  uint64_t next_place_ = 0;
  BinderCounts counts_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_GROUP_BINDER_H_
