// SPDX-License-Identifier: Apache-2.0
// The variant that every processor of the architecture can run.
#include "core/sampler/search/seed_kernel_vector.h"

namespace shufflefs {
namespace {

typedef uint32_t Words __attribute__((vector_size(16)));

}  // namespace

uint32_t FilterSeedsPortable(const SeedFilter& filter, uint32_t begin,
                             SeedHit* hits) {
  return FilterSeeds<Words, 8>(filter, begin, hits);
}

uint32_t FindDrawnPortable(uint32_t untempered, uint32_t begin,
                           uint32_t* seeds) {
  return FindDrawnInBlock<Words, 8>(untempered, begin, seeds);
}

}  // namespace shufflefs
