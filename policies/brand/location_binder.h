// SPDX-License-Identifier: Apache-2.0
// LocationBinder is the binder for brand.binding = location: the protocol of
// the Brand paper (arXiv:2505.16280), for comparison. In the paper's terms:
//   A name belongs to a memory location (policies/brand/location_map.h). Any
//   valid sample that the location holds answers the request, and the location
//   invalidates itself. If it holds nothing, a chunk of its chunk group is
//   loaded. The chunk must have a sample for this location that was not
//   consumed. With the full refill policy it is one of these with the highest
//   fill rate: the share of its samples that go to a location that holds
//   nothing and were not consumed. Ties are broken at random. Samples of the
//   chunk for locations that hold something are not kept: nothing is ever
//   evicted before it is consumed.
//
// Guarantees: names and samples of a location's column are one to one in an
//   epoch, so those of a group are too.
// Read pattern: chunks on demand only, each several times. With one group and
//   memory for half, a quarter and a tenth of the dataset each chunk is loaded
//   4.8, 7.1 and 8.9 times. The paper reads the whole chunk each time. Here the
//   binder requests only the samples that are kept, so no byte is read twice
//   for this reason. counts() tells what whole chunks would have cost.
// Several nodes: each has a binder over the chunks that it owns. Names of other
//   samples (there are none if names are partners: core/binding/nodes/shared_names.h)
//   show any sample that is left of the group.
// Memory: some 45 bytes per sample in addition to BinderInput. Cost: Bind is
//   O(chunks of a chunk group).
#ifndef SHUFFLEFS_POLICIES_BRAND_LOCATION_BINDER_H_
#define SHUFFLEFS_POLICIES_BRAND_LOCATION_BINDER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/policy/binder.h"
#include "core/random/random.h"
#include "policies/brand/location_map.h"
#include "policies/sample_table.h"

namespace shufflefs {

class LocationBinder : public Binder {
 public:
  // Refill says which of the chunks that can answer a miss is loaded. The paper
  // uses the same steps to show what each part of its protocol contributes.
  enum class Refill {
    kNone,      // the chunk of the name's own sample, else the first
    kRandom,    // any of them
    kFillRate,  // the full protocol
  };

  // Before the first BeginEpoch the state is as if epoch 0 of seed 0 had begun.
  // `input` outlives the binder.
  explicit LocationBinder(const BinderInput& input,
                          Refill refill = Refill::kFillRate);

  void BeginEpoch(Seed seed, Epoch epoch,
                  absl::Span<const NameBinding> bound) override;
  SampleId Bind(SampleId name) override;
  bool IsReady(SampleId name) const override;
  absl::optional<SampleId> Bound(SampleId name) const override;
  absl::optional<SampleId> NameOf(SampleId sample) const override;
  // Always empty: chunks are loaded on demand.
  std::vector<SampleId> NextFetch(uint64_t room) override;
  // If `room` is too small for all that the chunk would fill, as much as fits.
  std::vector<SampleId> FetchChunkOf(SampleId sample, uint64_t room) override;
  void Bypassed(SampleId sample) override;
  void Arrived(SampleId sample) override;
  void Left(SampleId sample) override;
  bool fetched_all() const override { return true; }
  bool fetched_ahead(SampleId sample) const override;
  BinderCounts counts() const override { return counts_; }
  std::unique_ptr<Binder> ForShare(const BinderInput& input) const override {
    return std::make_unique<LocationBinder>(input, refill_);
  }

  const LocationMap& map() const { return map_; }
  // Returns whether the name's location holds a sample that no name shows yet.
  bool holds(SampleId name) const {
    return !Empty(map_.location_of(SampleTable::IdOf(name)));
  }

 private:
  // The sample is not bound and not in memory, so a load can bring it.
  bool Available(uint32_t sample) const {
    return !table_.bound(sample) && !table_.held(sample);
  }
  bool Empty(uint32_t location) const { return valid_[location] == 0; }
  // Adds `by` to the fill rate of each chunk that could fill the location.
  void CountFills(uint32_t location, int by);
  // Counts one valid sample of the column more, or one less.
  void AddValid(uint32_t location);
  void RemoveValid(uint32_t location);
  uint32_t ValidSample(uint32_t location) const;
  // A sample for a name that has a location. kNone if all of its column are
  // bound, because the pairs that an epoch begins with may be of different
  // columns.
  uint32_t OfLocation(uint32_t name);
  // The sample by which a chunk for the name's empty location is chosen.
  uint32_t ChooseRefill(uint32_t name);
  // kNone if all are bound that have a location.
  uint32_t AnyOfGroup(uint32_t group);
  void Take(uint32_t name, uint32_t sample);

  // Constant after construction.
  const BinderInput& input_;
  const Refill refill_;

  SampleTable table_;
  const LocationMap map_;
  Rng rng_;
  // By group: all samples before this one are bound, or have no location.
  std::vector<uint32_t> next_of_group_;
  // By location: how many unbound samples of its column are in memory or on
  // their way. At most one, except for what an epoch leaves to the next.
  std::vector<uint32_t> valid_;
  // By chunk: how many of its samples are available and have an empty location
  // with memory. The constant is of an epoch that begins with nothing.
  const std::vector<uint32_t> all_fills_;
  std::vector<uint32_t> fills_;
  BinderCounts counts_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_BRAND_LOCATION_BINDER_H_
