// SPDX-License-Identifier: Apache-2.0
// Compiled for AVX-512 (CMakeLists.txt). Called only if the processor has it.
#include "core/sampler/search/seed_kernel_vector.h"

#if defined(__AVX512F__)

namespace shufflefs {
namespace {

typedef uint32_t Words __attribute__((vector_size(64)));

}  // namespace

uint32_t FilterSeedsAvx512(const SeedFilter& filter, uint32_t begin,
                           SeedHit* hits) {
  return FilterSeeds<Words, 8>(filter, begin, hits);
}

uint32_t FindDrawnAvx512(uint32_t untempered, uint32_t begin, uint32_t* seeds) {
  return FindDrawnInBlock<Words, 8>(untempered, begin, seeds);
}

}  // namespace shufflefs

#endif  // __AVX512F__
