// SPDX-License-Identifier: Apache-2.0
// Which default generator drew the seed of an epoch, and as which output. A
// RandomSampler draws the seed of each epoch from the generator that
// torch.manual_seed() seeded, of whose seed, too, only 32 bits matter: who
// knows one epoch's seed can look for it among the first outputs of all 2^32
// generators, which takes little longer than the search for the epoch's seed
// did. By chance kDrawnOutputs places are found beside the right one; the next
// epoch tells which it is (generator_trail.h). Where a model drew its weights
// before, the place lies further on: that far only generators are followed that
// were seeded in a usual way.
//
// Immutable: several threads may search different slices, on their own time.
#ifndef SHUFFLEFS_CORE_CLAIRVOYANT_GENERATOR_SEARCH_H_
#define SHUFFLEFS_CORE_CLAIRVOYANT_GENERATOR_SEARCH_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "core/clairvoyant/seed_kernel.h"
#include "core/clairvoyant/seed_search.h"
#include "core/clairvoyant/torch_random.h"

namespace shufflefs {

// An output of a generator.
struct GeneratorPlace {
  uint64_t generator_seed = 0;
  uint64_t output = 0;       // from 0
  TorchGenerator generator;  // stands behind it
};

// The outputs of one generator, looked through piece by piece. Belongs to one
// thread.
class GeneratorStream {
 public:
  explicit GeneratorStream(uint64_t seed) : seed_(seed), generator_(seed) {}

  // Where that number stands among the next outputs.
  std::vector<GeneratorPlace> Find(uint32_t number, uint64_t outputs);

 private:
  const uint64_t seed_;
  TorchGenerator generator_;
  uint64_t at_ = 0;
};

// For the low half of the seed of an epoch.
class GeneratorSearch {
 public:
  static constexpr uint64_t kSeeds = SeedSearch::kSeeds;
  static constexpr uint32_t kOutputs = kDrawnOutputs;

  explicit GeneratorSearch(uint32_t epoch_seed);

  // Where it stands among the first kOutputs outputs of the generators with the
  // seeds [begin, end). Once `stop` is set the rest remains unsearched.
  // REQUIRES: end <= kSeeds.
  std::vector<GeneratorPlace> Slice(uint64_t begin, uint64_t end,
                                    const std::atomic<bool>& stop) const {
    return Slice(begin, end, stop, SeedKernels().back());
  }
  std::vector<GeneratorPlace> Slice(uint64_t begin, uint64_t end,
                                    const std::atomic<bool>& stop,
                                    SeedKernel kernel) const;

 private:
  const uint32_t epoch_seed_;
  const uint32_t untempered_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_CLAIRVOYANT_GENERATOR_SEARCH_H_
