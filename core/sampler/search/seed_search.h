// SPDX-License-Identifier: Apache-2.0
// SeedSearch finds the seeds with which torch.randperm(n) begins with the files
// that were opened. RandomSampler seeds a generator anew for every epoch, from
// 63 random bits, of which 32 matter. The search tries all 2^32 seeds, in a
// minute or two of one core.
//
// The workers of a DataLoader open files concurrently. So the common order is
// unknown; only the order of each worker is known, its stream. Each index at
// the head of the permutation is the next of some stream. The longer the
// streams are, the fewer seeds match by chance.
//
// Immutable, so several threads may search different slices. A slice runs on
// its caller's thread. So the caller decides priority, progress and the number
// of cores.
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
  // stream if there are no workers.
  std::vector<std::vector<uint32_t>> streams;
  // Outputs that the generator gave before randperm: 0 for a RandomSampler, 2
  // in the first epoch of a DataLoader that was given a generator.
  uint32_t outputs_before = 0;
};

// The variants of the inner loop.
enum class SeedKernel { kPortable, kAvx2, kAvx512 };

// The variants that this processor can run, the fastest last.
std::vector<SeedKernel> SeedKernels();

using SeedKernelFunction = uint32_t (*)(const SeedFilter&, uint32_t, SeedHit*);
SeedKernelFunction FunctionOf(SeedKernel kernel);

class SeedSearch {
 public:
  static constexpr uint64_t kSeeds = uint64_t{1} << 32;
  // A slice takes about a millisecond. For callers that cut the search.
  static constexpr uint64_t kSliceSeeds = uint64_t{1} << 15;
  static constexpr uint64_t kSlices = kSeeds / kSliceSeeds;

  // Returns how many opens of every stream make the answer certain: with these,
  // any wrong seed matches with probability 2^-20 at most. Returns 0 if no
  // number does.
  static uint32_t OpensNeeded(uint32_t n, uint64_t streams);

  // REQUIRES: 2 <= n < kLargeRandperm; 1 to SeedFilter::kMaxRemainders streams,
  // each of at least OpensNeeded() > 0 opens.
  explicit SeedSearch(SeedQuery query);

  // Returns the seeds in [begin, end) that match the query, in ascending order.
  // Checks `stop` every 10 ms or so. Once it is set, the rest of the slice is
  // not searched. REQUIRES: end <= kSeeds.
  std::vector<uint32_t> Slice(uint64_t begin, uint64_t end,
                              const std::atomic<bool>& stop) const {
    return Slice(begin, end, stop, SeedKernels().back());
  }
  std::vector<uint32_t> Slice(uint64_t begin, uint64_t end,
                              const std::atomic<bool>& stop,
                              SeedKernel kernel) const;

  // Returns whether this seed matches the query. `head` has room for
  // OpensNeeded().
  bool Matches(uint32_t seed, RandpermHead& head) const;

  const SeedFilter& filter() const { return filter_; }

 private:
  bool SecondFits(const SeedHit& hit) const;

  const SeedQuery query_;
  const uint32_t needed_;
  SeedFilter filter_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_SEARCH_SEED_SEARCH_H_
