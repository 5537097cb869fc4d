// SPDX-License-Identifier: Apache-2.0
// brand.binding = location: the protocol of the Brand paper
// (arXiv:2505.16280), to compare with. In the paper's words:
//   A name belongs to a memory location (policies/brand/location_map.h). Whatever
//   valid sample the location holds answers the request, and the location
//   invalidates itself. When it holds nothing, a chunk of its chunk group is
//   loaded: one that has a sample for this location that was not consumed,
//   and, with the full refill policy, of these one with the highest fill rate
//   (the share of its samples that go to a location that holds nothing and
//   were not consumed), ties broken at random. What the loaded chunk brings
//   for locations that hold something is not kept: nothing is ever evicted
//   before it is consumed.
//
// Guarantees: names and samples of a location's column are one to one in an
//   epoch, so those of a group are.
// Read pattern: chunks on demand only, each several times: with one group and
//   memory for half, a quarter and a tenth of the dataset each chunk is
//   loaded 4.8, 7.1 and 8.9 times. The paper reads the chunk whole each time.
//   Here only the samples are asked for that are kept, so no byte is read
//   twice on that account; counts() tells what whole chunks would have cost.
// Memory: some 45 bytes a sample beside BinderInput. Cost: Bind is O(chunks of
//   a chunk group).
#ifndef SHUFFLEFS_POLICIES_BRAND_LOCATION_BINDER_H_
#define SHUFFLEFS_POLICIES_BRAND_LOCATION_BINDER_H_

#include <cstdint>
#include <vector>

#include "core/policy/binder.h"
#include "core/random/random.h"
#include "policies/brand/location_map.h"
#include "policies/sample_table.h"

namespace shufflefs {

class LocationBinder : public Binder {
 public:
  // Which of the chunks that can answer a miss is loaded: the paper's
  // breakdown of what its parts bring.
  enum class Refill {
    kNone,      // that of the name's own sample, else the first
    kRandom,    // any
    kFillRate,  // the full protocol
  };

  // Before the first BeginEpoch it is as if epoch 0 of seed 0 had begun.
  // `input` outlives the binder.
  explicit LocationBinder(const BinderInput& input,
                          Refill refill = Refill::kFillRate);

  void BeginEpoch(Seed seed, Epoch epoch,
                  absl::Span<const CarriedPair> bound) override;
  SampleId Bind(SampleId name) override;
  absl::optional<SampleId> Bound(SampleId name) const override;
  absl::optional<SampleId> NameOf(SampleId sample) const override;
  // Nothing: chunks are loaded on demand.
  std::vector<SampleId> NextFetch(uint64_t room) override;
  // Where `room` does not hold all that the chunk would fill, as much as fits.
  std::vector<SampleId> FetchChunkOf(SampleId sample, uint64_t room) override;
  void FetchedAlone(SampleId sample) override;
  void Arrived(SampleId sample) override;
  void Left(SampleId sample) override;
  bool fetched_all() const override { return true; }
  bool fetched_ahead(SampleId sample) const override;
  BinderCounts counts() const override { return counts_; }

  const LocationMap& map() const { return map_; }

 private:
  // Not bound and not in memory: a load can bring it.
  bool Available(uint32_t sample) const {
    return !table_.bound(sample) && !table_.held(sample);
  }
  bool Empty(uint32_t location) const { return valid_[location] == 0; }
  // Adds `by` to the fill rate of each chunk that could fill the location.
  void CountFills(uint32_t location, int by);
  // A valid sample of the column more, or less.
  void AddValid(uint32_t location);
  void RemoveValid(uint32_t location);
  uint32_t ValidSample(uint32_t location) const;
  // A sample of the name's column; kNone if all of it are bound: pairs that
  // an epoch begins with may be of different columns.
  uint32_t ChooseRefill(uint32_t name);
  uint32_t AnyOfGroup(uint32_t group);
  void Take(uint32_t name, uint32_t sample);

  // Constant after construction.
  const BinderInput& input_;
  const Refill refill_;

  SampleTable table_;
  const LocationMap map_;
  Rng rng_;
  // By group: all samples before it are bound.
  std::vector<uint32_t> next_of_group_;
  // By location: samples of its column in memory or on their way, not bound.
  // One, but for what an epoch leaves to the next.
  std::vector<uint32_t> valid_;
  // By chunk: its samples that are available and whose location is empty and
  // has memory.
  std::vector<uint32_t> fills_;
  BinderCounts counts_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_BRAND_LOCATION_BINDER_H_
