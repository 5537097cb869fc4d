// SPDX-License-Identifier: Apache-2.0
#include "core/sampler/search/generator_search.h"

#include <algorithm>

namespace shufflefs {
namespace {

constexpr uint64_t kOutputsASlice = uint64_t{1} << 18;
constexpr uint64_t kSeedsPerLook = uint64_t{1} << 14;  // at `stop`

using DrawnFunction = uint32_t (*)(uint32_t, uint32_t, uint32_t*);

DrawnFunction DrawnFunctionOf(SeedKernel kernel) {
  switch (kernel) {
#if defined(__x86_64__)
    case SeedKernel::kAvx2:
      return FindDrawnAvx2;
    case SeedKernel::kAvx512:
      return FindDrawnAvx512;
#endif
    default:
      return FindDrawnPortable;
  }
}

// Returns what TorchGenerator::Temper turns into `y`. It undoes each step,
// because the bits that a step leaves alone determine the next ones.
uint32_t Untemper(uint32_t y) {
  y ^= y >> 18;
  y ^= (y << 15) & 0xEFC60000;
  uint32_t x = y;
  for (int bits = 7; bits < 32; bits += 7) x = y ^ ((x << 7) & 0x9D2C5680);
  y = x;
  for (int bits = 11; bits < 32; bits += 11) x = y ^ (x >> 11);
  return x;
}

}  // namespace

std::vector<GeneratorPlace> GeneratorStream::Find(uint32_t number,
                                                  uint64_t outputs) {
  std::vector<GeneratorPlace> places;
  for (const uint64_t end = at_ + outputs; at_ < end; ++at_) {
    if (generator_.Random() == number) {
      places.push_back({seed_, at_, generator_});
    }
  }
  return places;
}

GeneratorSearch::GeneratorSearch(uint32_t epoch_seed)
    : epoch_seed_(epoch_seed), untempered_(Untemper(epoch_seed)) {}

std::vector<GeneratorPlace> GeneratorSearch::Slice(
    uint64_t begin, uint64_t end, const std::atomic<bool>& stop,
    SeedKernel kernel) const {
  const DrawnFunction find = DrawnFunctionOf(kernel);
  uint32_t seeds[kSeedBlock];
  std::vector<GeneratorPlace> places;
  const uint64_t first = begin - begin % kSeedBlock;
  for (uint64_t at = first; at < end; at += kSeedBlock) {
    if (at % kSeedsPerLook == 0 && stop.load(std::memory_order_relaxed)) {
      break;
    }
    const uint32_t count = find(untempered_, static_cast<uint32_t>(at), seeds);
    for (uint32_t i = 0; i < count; ++i) {
      if (seeds[i] < begin || seeds[i] >= end) continue;
      const auto more = GeneratorStream(seeds[i]).Find(epoch_seed_, kOutputs);
      places.insert(places.end(), more.begin(), more.end());
    }
  }
  return places;
}

GeneratorSlices::GeneratorSlices(uint32_t number, const Options& options)
    : number_(number),
      search_(number),
      of_usual_(options.outputs / kOutputsASlice * options.usual.size()),
      of_all_(options.all ? SeedSearch::kSlices : 0) {
  for (const uint64_t seed : options.usual) streams_.emplace_back(seed);
}

std::vector<GeneratorPlace> GeneratorSlices::Slice(
    uint64_t slice, const std::atomic<bool>& stop) {
  if (slice < 2 * std::min(of_usual_, of_all_)) {
    return slice % 2 == 0 ? UsualSlice(slice / 2) : SliceOfAll(slice / 2, stop);
  }
  return of_usual_ > of_all_ ? UsualSlice(slice - of_all_)
                             : SliceOfAll(slice - of_usual_, stop);
}

// Slices of one stream are far apart, so no thread waits.
std::vector<GeneratorPlace> GeneratorSlices::UsualSlice(uint64_t slice) {
  Stream& stream = streams_[slice % streams_.size()];
  MutexLock lock(stream.mu);
  return stream.outputs.Find(number_, kOutputsASlice);
}

std::vector<GeneratorPlace> GeneratorSlices::SliceOfAll(
    uint64_t slice, const std::atomic<bool>& stop) const {
  const uint64_t begin = slice * SeedSearch::kSliceSeeds;
  return search_.Slice(begin, begin + SeedSearch::kSliceSeeds, stop);
}

}  // namespace shufflefs
