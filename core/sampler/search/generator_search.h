// SPDX-License-Identifier: Apache-2.0
// GeneratorSearch finds which default generator drew the seed of an epoch, and
// as which output. A RandomSampler draws the seed of each epoch from the
// generator that torch.manual_seed() seeded. Of that seed, too, only 32 bits
// matter. So one epoch's seed can be searched among the first outputs of all
// 2^32 generators. This takes little longer than the search for the epoch's
// seed did.
//
// By chance about kDrawnOutputs places are found besides the right one. The
// next epoch shows which is right (generator_trail.h). If a model drew its
// weights first, the place is further on. Only generators with common seeds are
// followed that far.
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
  uint64_t output = 0;       // counts from 0
  TorchGenerator generator;  // is just past this output
};

// GeneratorStream searches the outputs of one generator, piece by piece. Use it
// from one thread.
class GeneratorStream {
 public:
  explicit GeneratorStream(uint64_t seed) : seed_(seed), generator_(seed) {}

  // Returns the places of `number` among the next `outputs` outputs.
  std::vector<GeneratorPlace> Find(uint32_t number, uint64_t outputs);

 private:
  const uint64_t seed_;
  TorchGenerator generator_;
  uint64_t at_ = 0;
};

// Searches for the low half of an epoch's seed. Immutable, so several threads
// may search different slices. A slice runs on its caller's thread.
class GeneratorSearch {
 public:
  static constexpr uint64_t kSeeds = SeedSearch::kSeeds;
  static constexpr uint32_t kOutputs = kDrawnOutputs;

  explicit GeneratorSearch(uint32_t epoch_seed);

  // Returns its places among the first kOutputs outputs of the generators with
  // the seeds [begin, end). Once `stop` is set, the rest is not searched.
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

// GeneratorSlices does both searches for one number, in slices of about a
// millisecond. It alternates between long streams of generators with common
// seeds and the first outputs of all generators. Thread-safe.
class GeneratorSlices {
 public:
  struct Options {
    std::vector<uint64_t> usual;  // common seeds; not empty
    // Outputs to search of each of these. A model of many million weights may
    // have been made before.
    uint64_t outputs = uint64_t{1} << 26;
    bool all = false;
  };
  GeneratorSlices(uint32_t number, const Options& options);

  uint64_t count() const { return of_usual_ + of_all_; }
  // Searches one slice. REQUIRES: slice < count(); each slice once.
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

  // Constant after construction, except for what a stream guards itself.
  const uint32_t number_;
  const GeneratorSearch search_;
  const uint64_t of_usual_;  // slices
  const uint64_t of_all_;    // slices
  std::deque<Stream> streams_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_SEARCH_GENERATOR_SEARCH_H_
