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
#ifndef SHUFFLEFS_CORE_SAMPLER_SEARCH_GENERATOR_SEARCH_H_
#define SHUFFLEFS_CORE_SAMPLER_SEARCH_GENERATOR_SEARCH_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "core/sampler/search/seed_kernel.h"
#include "core/sampler/search/seed_search.h"
#include "core/sampler/search/torch_random.h"

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

// For the low half of the seed of an epoch. Immutable: several threads may
// search different slices, on their own time.
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

// Both for one number, cut into slices of about a millisecond: the long streams
// of generators that were seeded in a usual way, and the first outputs of all,
// which take turns. Thread-safe.
class GeneratorSlices {
 public:
  struct Options {
    std::vector<uint64_t> usual;  // seeds; not none
    // Of each of these: a model of many million weights may have been made
    // before.
    uint64_t outputs = uint64_t{1} << 26;
    bool all = false;
  };
  GeneratorSlices(uint32_t number, const Options& options);

  uint64_t count() const { return of_usual_ + of_all_; }
  // REQUIRES: slice < count(); each once.
  std::vector<GeneratorPlace> Slice(uint64_t slice,
                                    const std::atomic<bool>& stop);

 private:
  struct Stream {
    explicit Stream(uint64_t seed) : outputs(seed) {}

    Mutex mu;
    GeneratorStream outputs ABSL_GUARDED_BY(mu);
  };

  std::vector<GeneratorPlace> UsualSlice(uint64_t slice);
  std::vector<GeneratorPlace> SliceOfAll(uint64_t slice,
                                         const std::atomic<bool>& stop) const;

  // Constant after construction, but for what a stream guards itself.
  const uint32_t number_;
  const GeneratorSearch search_;
  const uint64_t of_usual_;  // slices
  const uint64_t of_all_;    // the same
  std::deque<Stream> streams_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_SEARCH_GENERATOR_SEARCH_H_
