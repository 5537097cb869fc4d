// SPDX-License-Identifier: Apache-2.0
// The body of seed_kernel.h for any vector width. Everything has internal
// linkage, because each instruction set must keep its own copy.
#ifndef SHUFFLEFS_CORE_SAMPLER_SEARCH_SEED_KERNEL_VECTOR_H_
#define SHUFFLEFS_CORE_SAMPLER_SEARCH_SEED_KERNEL_VECTOR_H_

#include "core/sampler/search/seed_kernel.h"

namespace shufflefs {
namespace {

constexpr uint32_t kShift = 397;

// Sets word 0 of the states of the seeds from `begin` on.
template <typename Words, int kVectors>
void Seed(Words (&words)[kVectors], uint32_t begin) {
  constexpr uint32_t kLanes = sizeof(Words) / sizeof(uint32_t);
  Words seeds = {};
  for (uint32_t lane = 0; lane < kLanes; ++lane) seeds[lane] = begin + lane;
  for (int v = 0; v < kVectors; ++v) {
    words[v] = seeds + static_cast<uint32_t>(v) * kLanes;
  }
}

// Advances the states from word `at` to word `to`. Returns `to`.
template <typename Words, int kVectors>
uint32_t Fill(Words (&words)[kVectors], uint32_t at, uint32_t to) {
  for (uint32_t i = at + 1; i <= to; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      words[v] = 1812433253U * (words[v] ^ (words[v] >> 30)) + i;
    }
  }
  return to;
}

// Returns an output before it is tempered.
template <typename Words>
Words Twisted(const Words& upper, const Words& lower, const Words& far) {
  const Words mixed = (upper & 0x80000000U) | (lower & 0x7FFFFFFFU);
  return far ^ (mixed >> 1) ^ ((0 - (lower & 1)) & 0x9908B0DFU);
}

// kVectors interleaved recurrences hide the latency of a multiplication.
template <typename Words, int kVectors>
class SeedGroup {
 public:
  static constexpr uint32_t kLanes = sizeof(Words) / sizeof(uint32_t);
  static constexpr uint32_t kSeeds = kLanes * kVectors;

  // Makes the generators of the seeds from `begin` on. Computes their two
  // outputs that follow `before` others.
  SeedGroup(uint32_t begin, uint32_t before) {
    Words words[kVectors];   // the last words filled
    Words near[kVectors];    // word `before`
    Words middle[kVectors];  // the next word
    Words far[kVectors];     // the word after that
    Seed(words, begin);
    uint32_t at = Fill(words, 0, before);
    for (int v = 0; v < kVectors; ++v) near[v] = words[v];
    at = Fill(words, at, before + 1);
    for (int v = 0; v < kVectors; ++v) middle[v] = words[v];
    at = Fill(words, at, before + 2);
    for (int v = 0; v < kVectors; ++v) far[v] = words[v];
    at = Fill(words, at, before + kShift);
    for (int v = 0; v < kVectors; ++v) {
      first_[v] = Output(near[v], middle[v], words[v]);
    }
    Fill(words, at, before + kShift + 1);
    for (int v = 0; v < kVectors; ++v) {
      second_[v] = Output(middle[v], far[v], words[v]);
    }
  }

  uint32_t Hits(const SeedFilter& filter, uint32_t begin, SeedHit* hits) const {
    uint32_t count = 0;
    for (int v = 0; v < kVectors; ++v) {
      const Words wanted = Wanted(filter, first_[v]);
      uint32_t any = 0;
      for (uint32_t lane = 0; lane < kLanes; ++lane) any |= wanted[lane];
      if (any == 0) continue;
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        if (wanted[lane] == 0) continue;
        hits[count++] = {begin + static_cast<uint32_t>(v) * kLanes + lane,
                         first_[v][lane], second_[v][lane]};
      }
    }
    return count;
  }

 private:
  static Words Output(const Words& upper, const Words& lower,
                      const Words& far) {
    Words y = Twisted(upper, lower, far);
    y ^= y >> 11;
    y ^= (y << 7) & 0x9D2C5680U;
    y ^= (y << 15) & 0xEFC60000U;
    return y ^ (y >> 18);
  }

  // Returns all ones in each lane whose output leaves a wanted remainder.
  static Words Wanted(const SeedFilter& filter, const Words& output) {
    const Words scaled = output * filter.inverse;
    Words wanted = {};
    for (uint32_t i = 0; i < filter.count; ++i) {
      const Words difference = scaled - filter.remainders[i];
      const Words quotient = (difference >> filter.shift) |
                             (difference << ((32 - filter.shift) & 31));
      wanted |= static_cast<Words>(quotient <= filter.limit);
    }
    return wanted;
  }

  Words first_[kVectors];
  Words second_[kVectors];
};

template <typename Words, int kVectors>
uint32_t FilterSeeds(const SeedFilter& filter, uint32_t begin, SeedHit* hits) {
  using Group = SeedGroup<Words, kVectors>;
  static_assert(kSeedBlock % Group::kSeeds == 0);
  uint32_t count = 0;
  for (uint32_t i = 0; i < kSeedBlock; i += Group::kSeeds) {
    const Group group(begin + i, filter.outputs_before);
    count += group.Hits(filter, begin + i, hits + count);
  }
  return count;
}

// Keeps 65 words of each state: 33 KiB with vectors of 64 bytes. Half as many
// vectors would surely fit into the first cache, but were slower.
template <typename Words, int kVectors>
uint32_t FindDrawn(uint32_t untempered, uint32_t begin, uint32_t* seeds) {
  constexpr uint32_t kLanes = sizeof(Words) / sizeof(uint32_t);
  Words words[kVectors];
  Words near[kDrawnOutputs + 1][kVectors];
  Words found[kVectors] = {};
  Seed(words, begin);
  uint32_t at = 0;
  for (uint32_t i = 0; i <= kDrawnOutputs; ++i) {
    at = Fill(words, at, i);
    for (int v = 0; v < kVectors; ++v) near[i][v] = words[v];
  }
  for (uint32_t i = 0; i < kDrawnOutputs; ++i) {
    at = Fill(words, at, i + kShift);
    for (int v = 0; v < kVectors; ++v) {
      found[v] |= static_cast<Words>(
          Twisted(near[i][v], near[i + 1][v], words[v]) == untempered);
    }
  }
  uint32_t count = 0;
  for (uint32_t i = 0; i < kLanes * kVectors; ++i) {
    if (found[i / kLanes][i % kLanes] != 0) seeds[count++] = begin + i;
  }
  return count;
}

template <typename Words, int kVectors>
uint32_t FindDrawnInBlock(uint32_t untempered, uint32_t begin,
                          uint32_t* seeds) {
  constexpr uint32_t kSeeds = sizeof(Words) / sizeof(uint32_t) * kVectors;
  static_assert(kSeedBlock % kSeeds == 0);
  uint32_t count = 0;
  for (uint32_t i = 0; i < kSeedBlock; i += kSeeds) {
    count += FindDrawn<Words, kVectors>(untempered, begin + i, seeds + count);
  }
  return count;
}

}  // namespace
}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_SEARCH_SEED_KERNEL_VECTOR_H_
