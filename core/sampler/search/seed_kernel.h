// SPDX-License-Identifier: Apache-2.0
// The inner loops of the searches: of a block of seeds, those whose generator
// may begin as wanted (seed_search.h), and those whose generator gives a number
// soon (generator_search.h). One source, compiled once for each instruction
// set; all forms give the same hits.
//
// The first output after seeding depends on the words 0, 1 and 397 of the state
// alone, and these on the seed by 397 steps of a recurrence: two thirds of a
// seeding, and no permutation. The second output costs one step more and comes
// with each hit, so that few seeds are looked at a second time.
//
// Includes nothing but what has no inline functions: those would be compiled
// for the newer processor as well, and the linker could choose that copy for
// the whole program.
#ifndef SHUFFLEFS_CORE_SAMPLER_SEARCH_SEED_KERNEL_H_
#define SHUFFLEFS_CORE_SAMPLER_SEARCH_SEED_KERNEL_H_

#include <stdint.h>

namespace shufflefs {

inline constexpr uint32_t kSeedBlock = 128;  // seeds a call

// Which first outputs are wanted: those that leave one of the remainders on
// division by n. With n = odd << shift, `output - r` is a multiple of n if and
// only if its product with the inverse of `odd`, rotated right by `shift`, is
// at most (2^32 - 1) / n. An output below r may pass as well.
struct SeedFilter {
  static constexpr uint32_t kMaxRemainders = 64;

  uint32_t outputs_before = 0;  // outputs that were drawn already; at most 200
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

// So many outputs are looked through for a number. They depend on the words of
// the state up to kDrawnOutputs + 397.
inline constexpr uint32_t kDrawnOutputs = 64;

// Writes the hits among [begin, begin + kSeedBlock) in ascending order; returns
// their number. `hits` has room for kSeedBlock. REQUIRES: begin is a multiple
// of kSeedBlock, the processor knows the instructions.
uint32_t FilterSeedsPortable(const SeedFilter& filter, uint32_t begin,
                             SeedHit* hits);
// The same of the seeds among whose first kDrawnOutputs outputs is one that was
// `untempered` before it was tempered.
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
