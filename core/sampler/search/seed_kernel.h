// SPDX-License-Identifier: Apache-2.0
// The inner loops of the searches. FilterSeeds returns the seeds of a block
// whose generator may begin as wanted (seed_search.h). FindDrawn returns those
// whose generator soon gives a number (generator_search.h). One source is
// compiled once for each instruction set. All variants return the same hits.
//
// The first output after seeding depends only on words 0, 1 and 397 of the
// state. These depend on the seed through 397 steps of a recurrence. That is
// two thirds of a seeding, and no permutation. The second output costs one more
// step. Each hit carries it, so that few seeds need a second test.
//
// This file includes only headers without inline functions. Inline functions
// would be compiled for the newer processor too, and the linker could choose
// that copy for the whole program.
#ifndef SHUFFLEFS_CORE_SAMPLER_SEARCH_SEED_KERNEL_H_
#define SHUFFLEFS_CORE_SAMPLER_SEARCH_SEED_KERNEL_H_

#include <stdint.h>

namespace shufflefs {

inline constexpr uint32_t kSeedBlock = 128;  // seeds per call

// The wanted first outputs: those that leave one of the remainders on division
// by n. Let n = odd << shift. Multiply `output - r` by the inverse of `odd` and
// rotate it right by `shift`. The result is at most (2^32 - 1) / n if and only
// if `output - r` is a multiple of n. An output below r may pass as well.
struct SeedFilter {
  static constexpr uint32_t kMaxRemainders = 64;

  uint32_t outputs_before = 0;  // outputs already drawn; at most 200
  uint32_t inverse = 1;         // of odd, mod 2^32
  uint32_t shift = 0;
  uint32_t limit = 0;  // (2^32 - 1) / n
  uint32_t count = 0;
  uint32_t remainders[kMaxRemainders] = {};  // each times `inverse`
};

struct SeedHit {
  uint32_t seed;
  uint32_t first;   // output
  uint32_t second;  // output

  friend bool operator==(const SeedHit&, const SeedHit&) = default;
};

// A number is searched among this many outputs. They depend on the words of the
// state up to kDrawnOutputs + 397.
inline constexpr uint32_t kDrawnOutputs = 64;

// Writes the hits in [begin, begin + kSeedBlock) in ascending order. Returns
// their number. `hits` has room for kSeedBlock. REQUIRES: begin is a multiple
// of kSeedBlock, and the processor has the instructions.
uint32_t FilterSeedsPortable(const SeedFilter& filter, uint32_t begin,
                             SeedHit* hits);
// The same for the seeds of generators that give, among the first kDrawnOutputs
// outputs, one that was `untempered` before it was tempered.
uint32_t FindDrawnPortable(uint32_t untempered, uint32_t begin,
                           uint32_t* seeds);
#if defined(__x86_64__)
uint32_t FilterSeedsAvx2(const SeedFilter& filter, uint32_t begin,
                         SeedHit* hits);
uint32_t FilterSeedsAvx512(const SeedFilter& filter, uint32_t begin,
                           SeedHit* hits);
uint32_t FindDrawnAvx2(uint32_t untempered, uint32_t begin, uint32_t* seeds);
uint32_t FindDrawnAvx512(uint32_t untempered, uint32_t begin, uint32_t* seeds);
#endif

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_SEARCH_SEED_KERNEL_H_
