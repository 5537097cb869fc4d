// SPDX-License-Identifier: Apache-2.0
#include "core/sampler/search/seed_search.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace shufflefs {
namespace {

constexpr double kSeedBits = 32;
constexpr double kCertaintyBits = 20;
constexpr uint64_t kSeedsBetweenLooks = uint64_t{1} << 16;  // at `stop`

// Newton's iteration doubles the number of correct bits. An odd number is its
// own inverse mod 8.
uint32_t InverseOfOdd(uint32_t odd) {
  uint32_t inverse = odd;
  for (int bits = 3; bits < 32; bits *= 2) inverse *= 2 - odd * inverse;
  return inverse;
}

SeedFilter MakeSeedFilter(const SeedQuery& query) {
  SeedFilter filter;
  filter.outputs_before = query.outputs_before;
  filter.shift = static_cast<uint32_t>(std::countr_zero(query.n));
  filter.inverse = InverseOfOdd(query.n >> filter.shift);
  filter.limit = 0xFFFFFFFF / query.n;
  for (const auto& stream : query.streams) {
    filter.remainders[filter.count++] = stream[0] * filter.inverse;
  }
  return filter;
}

}  // namespace

std::vector<SeedKernel> SeedKernels() {
  std::vector<SeedKernel> kernels = {SeedKernel::kPortable};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) kernels.push_back(SeedKernel::kAvx2);
  if (__builtin_cpu_supports("avx512f")) {
    kernels.push_back(SeedKernel::kAvx512);
  }
#endif
  return kernels;
}

SeedKernelFunction FunctionOf(SeedKernel kernel) {
  switch (kernel) {
#if defined(__x86_64__)
    case SeedKernel::kAvx2:
      return FilterSeedsAvx2;
    case SeedKernel::kAvx512:
      return FilterSeedsAvx512;
#endif
    default:
      return FilterSeedsPortable;
  }
}

uint32_t SeedSearch::OpensNeeded(uint32_t n, uint64_t streams) {
  if (streams == 0 || n / 2 < streams) return 0;
  // A random index is the next of some stream with probability streams / n.
  const double bits =
      std::log2(static_cast<double>(n) / static_cast<double>(streams));
  const double needed = std::ceil((kSeedBits + kCertaintyBits) / bits);
  return needed <= n ? static_cast<uint32_t>(needed) : 0;
}

SeedSearch::SeedSearch(SeedQuery query)
    : query_(std::move(query)),
      needed_(OpensNeeded(query_.n, query_.streams.size())),
      filter_(MakeSeedFilter(query_)) {}

std::vector<uint32_t> SeedSearch::Slice(uint64_t begin, uint64_t end,
                                        const std::atomic<bool>& stop,
                                        SeedKernel kernel) const {
  const SeedKernelFunction filter_seeds = FunctionOf(kernel);
  RandpermHead head(needed_);
  SeedHit hits[kSeedBlock];
  std::vector<uint32_t> seeds;
  const uint64_t first = begin - begin % kSeedBlock;
  for (uint64_t at = first; at < end; at += kSeedBlock) {
    if (at % kSeedsBetweenLooks == 0 && stop.load(std::memory_order_relaxed)) {
      break;
    }
    const uint32_t count =
        filter_seeds(filter_, static_cast<uint32_t>(at), hits);
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t seed = hits[i].seed;
      if (seed >= begin && seed < end && SecondFits(hits[i]) &&
          Matches(seed, head)) {
        seeds.push_back(seed);
      }
    }
  }
  return seeds;
}

// Tests the head of the permutation that the two outputs make, without a
// generator.
bool SeedSearch::SecondFits(const SeedHit& hit) const {
  const uint32_t first = hit.first % query_.n;
  const uint32_t position = 1 + hit.second % (query_.n - 1);
  const uint32_t second = position == first ? 0 : position;
  for (const auto& stream : query_.streams) {
    if (stream[0] == second) return true;
    if (stream[0] == first && (needed_ < 2 || stream[1] == second)) return true;
  }
  return needed_ < 2;
}

bool SeedSearch::Matches(uint32_t seed, RandpermHead& head) const {
  head.Restart(query_.n, seed, query_.outputs_before);
  uint32_t taken[SeedFilter::kMaxRemainders] = {};  // of each stream
  for (uint32_t i = 0; i < needed_; ++i) {
    const uint32_t index = head.Next();
    uint32_t t = 0;
    while (t < query_.streams.size() && query_.streams[t][taken[t]] != index) {
      ++t;
    }
    if (t == query_.streams.size()) return false;
    ++taken[t];
  }
  return true;
}

}  // namespace shufflefs
