// SPDX-License-Identifier: Apache-2.0
// Which seeds make torch.randperm(n) begin with the files that were opened.
// RandomSampler seeds a generator anew for every epoch, from 63 random bits of
// which 32 matter: all of them are tried, in a minute or two of one core.
//
// The workers of a DataLoader open files side by side, so what is known is not
// one order but one of each worker: streams. The permutation's head goes
// through the streams in an unknown way: each of its indices is the next of
// some stream. The longer the streams are, the fewer seeds do so by chance.
//
// Immutable: several threads may search different slices. A slice runs on its
// caller's thread, so priority, progress and the number of cores are the
// caller's.
#ifndef SHUFFLEFS_CORE_SAMPLER_SEARCH_SEED_SEARCH_H_
#define SHUFFLEFS_CORE_SAMPLER_SEARCH_SEED_SEARCH_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "core/sampler/search/randperm_head.h"
#include "core/sampler/search/seed_kernel.h"

namespace shufflefs {

struct SeedQuery {
  uint32_t n = 0;
  // The first indices that each worker opened in the epoch, in its order. One
  // stream where there are no workers.
  std::vector<std::vector<uint32_t>> streams;
  // Outputs that the generator gave before randperm: 0 for a RandomSampler, 2
  // in the first epoch of a DataLoader that was given a generator.
  uint32_t outputs_before = 0;
};

// The forms of the inner loop.
enum class SeedKernel { kPortable, kAvx2, kAvx512 };

// The forms that this processor can run, the fastest last.
std::vector<SeedKernel> SeedKernels();

using SeedKernelFunction = uint32_t (*)(const SeedFilter&, uint32_t, SeedHit*);
SeedKernelFunction FunctionOf(SeedKernel kernel);

class SeedSearch {
 public:
  static constexpr uint64_t kSeeds = uint64_t{1} << 32;
  // Of about a millisecond, for who cuts the search.
  static constexpr uint64_t kSliceSeeds = uint64_t{1} << 15;
  static constexpr uint64_t kSlices = kSeeds / kSliceSeeds;

  // How many opens of every stream make the answer certain: a wrong seed is
  // among the 2^32 with probability 2^-20 at most. 0: no number does.
  static uint32_t OpensNeeded(uint32_t n, uint64_t streams);

  // REQUIRES: 2 <= n < kLargeRandperm; 1 to SeedFilter::kMaxRemainders streams,
  // each of at least OpensNeeded() > 0 opens.
  explicit SeedSearch(SeedQuery query);

  // The seeds among [begin, end) with which the epoch begins so, in ascending
  // order. Looks at `stop` all the while (some 10 ms at most); once it is set
  // the rest of the slice remains unsearched. REQUIRES: end <= kSeeds.
  std::vector<uint32_t> Slice(uint64_t begin, uint64_t end,
                              const std::atomic<bool>& stop) const {
    return Slice(begin, end, stop, SeedKernels().back());
  }
  std::vector<uint32_t> Slice(uint64_t begin, uint64_t end,
                              const std::atomic<bool>& stop,
                              SeedKernel kernel) const;

  // Whether the epoch begins so with this seed. `head` has room for
  // opens_needed().
  bool Matches(uint32_t seed, RandpermHead& head) const;

  uint32_t opens_needed() const { return needed_; }
  const SeedFilter& filter() const { return filter_; }

 private:
  bool SecondFits(const SeedHit& hit) const;

  const SeedQuery query_;
  const uint32_t needed_;
  SeedFilter filter_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_SEARCH_SEED_SEARCH_H_
