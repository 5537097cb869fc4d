// SPDX-License-Identifier: Apache-2.0
// GroupBinder is the binder for brand.binding = group. A name shows a random
// sample of its group from the chunks that are completely in memory. If there
// is none, it shows one of the earliest chunk on its way. If there is none
// either (a miss), it shows one of the earliest planned chunk that has one.
//
// The binder does what the Brand paper asks for (arXiv:2505.16280): batched
// reads, substitutable returns, and no eviction before consumption. It needs no
// memory locations: any sample of the group serves any of its names, so no
// chunk is ever read twice in an epoch.
//
// Guarantees, whatever the order of calls: within an epoch names and samples of
// each group are one to one; a sample is fetched at most once per epoch. Order:
// chunks are fetched in a random order, a new one per epoch
// (policies/brand/chunk_plan.h). Samples are drawn at random from those that
// are open (policies/brand/chunk_line.h). An epoch's order does not depend on
// the previous one. Memory: about 26 bytes per sample in addition to
// BinderInput. Cost: Bind is O(1), some 100 ns, amortised over an epoch;
// BeginEpoch is linear in the groups, the chunks and the samples in memory (1
// ms for 14 million samples in 20,000 groups), and looks at no other sample.
// Only if memory holds all is it linear in the samples.
//
// When all of an epoch is fetched, the binder takes as many of the first chunks
// of the next epoch as memory holds: they are its beginning. NextFetch
// continues with those of their samples that have left memory by then. The
// others stay in memory when they are consumed. So the next epoch begins with
// whole chunks of its own plan, which does not depend on when this epoch showed
// them. If memory holds all, all stays from the first epoch on.
//
// A chunk of more than a quarter of the memory is cut into pieces, which are
// then chunks. A sample larger than that is never fetched into memory: its
// reader reads it alone.
#ifndef SHUFFLEFS_POLICIES_BRAND_GROUP_BINDER_H_
#define SHUFFLEFS_POLICIES_BRAND_GROUP_BINDER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/policy/binder.h"
#include "core/random/random.h"
#include "policies/brand/chunk_line.h"
#include "policies/brand/chunk_plan.h"
#include "policies/sample_table.h"

namespace shufflefs {

class GroupBinder : public Binder {
 public:
  // Before the first BeginEpoch the state is as if epoch 0 of seed 0 had begun.
  // `input` outlives the binder.
  explicit GroupBinder(const BinderInput& input);

  void BeginEpoch(Seed seed, Epoch epoch,
                  absl::Span<const NameBinding> bound) override;
  SampleId Bind(SampleId name) override;
  bool IsReady(SampleId name) const override;
  absl::optional<SampleId> Bound(SampleId name) const override;
  absl::optional<SampleId> NameOf(SampleId sample) const override;
  std::vector<SampleId> NextFetch(uint64_t room) override;
  std::vector<SampleId> FetchChunkOf(SampleId sample, uint64_t room) override;
  void Bypassed(SampleId sample) override;
  void Arrived(SampleId sample) override;
  void Left(SampleId sample) override;
  bool Keeps(SampleId sample) override;
  bool fetched_all() const override { return fetched_all_; }
  bool fetched_ahead(SampleId sample) const override;
  uint64_t kept() const override { return kept_; }
  uint32_t ChunkOf(SampleId sample) const override {
    return chunk_of_[SampleTable::IdOf(sample)];
  }
  BinderCounts counts() const override { return counts_; }
  std::unique_ptr<Binder> ForShare(const BinderInput& input) const override {
    return std::make_unique<GroupBinder>(input);
  }

 private:
  // The samples of a chunk that are to be fetched.
  struct Load {
    std::vector<SampleId> samples;
    uint64_t bytes = 0;
    bool empty() const { return samples.empty(); }
  };
  enum class For { kThisEpoch, kNextEpoch };

  bool Wanted(uint32_t sample, For epoch) const;
  // All wanted samples of a chunk.
  Load WantedOf(uint32_t chunk, For epoch) const;
  std::vector<SampleId> Begin(Load load, For epoch);
  // The wanted samples of the next chunk of `chunks`, from `at` on, that has
  // any. Empty if they do not fit into `room`; else moves `at` past the
  // chunk.
  std::vector<SampleId> NextOf(const std::vector<uint32_t>& chunks, size_t& at,
                               For epoch, uint64_t room);
  // Passes chunks that have no wanted samples.
  void Settle();
  // Chooses the chunks with which the next epoch begins.
  void ChooseBeginning();
  void Changed(uint32_t sample);

  // Constant after construction.
  const BinderInput& input_;
  const uint64_t largest_;  // bytes of a chunk
  const std::vector<std::vector<uint32_t>> chunks_;
  const std::vector<uint32_t> chunk_of_;  // by sample
  const bool all_fits_;                   // into memory

  SampleTable table_;
  std::unique_ptr<ChunkPlan> plan_;
  const uint64_t kept_;  // bytes of memory: for chunks that a reader asks for
  ChunkLine line_;
  Rng rng_;
  bool fetched_all_ = false;
  // The chunks with which this epoch began, in its order, and how many of them
  // are fetched.
  std::vector<uint32_t> beginning_;
  size_t begun_ = 0;
  // The same for the next epoch, once all of this epoch is fetched.
  RandomKey next_key_;
  std::vector<uint32_t> next_beginning_;
  size_t next_begun_ = 0;
  std::vector<bool> next_;  // by chunk: in next_beginning_
  BinderCounts counts_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_BRAND_GROUP_BINDER_H_
