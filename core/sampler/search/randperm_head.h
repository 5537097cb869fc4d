// SPDX-License-Identifier: Apache-2.0
// The first indices of a TorchRandperm, one after the other, without the
// permutation: k of them cost O(k) time, however large n is. For looking at
// many seeds. Belongs to one thread.
#ifndef SHUFFLEFS_CORE_SAMPLER_SEARCH_RANDPERM_HEAD_H_
#define SHUFFLEFS_CORE_SAMPLER_SEARCH_RANDPERM_HEAD_H_

#include <cstdint>
#include <vector>

#include "core/sampler/search/torch_random.h"

namespace shufflefs {

class RandpermHead {
 public:
  // At most `limit` indices of each permutation will be asked for.
  explicit RandpermHead(uint32_t limit);

  // Begins the permutation of [0, n) by a generator with this seed that gave
  // so many outputs before. REQUIRES: n < kLargeRandperm.
  void Restart(uint32_t n, uint64_t seed, uint64_t outputs_before = 0);

  // The next index. REQUIRES: fewer than n and than `limit` were taken.
  uint32_t Next();

 private:
  // What a swap left at a position not yet reached.
  struct Slot {
    uint32_t position;
    uint32_t index;
    uint32_t round;  // other rounds' slots are free
  };
  Slot& Find(uint32_t position);

  std::vector<Slot> slots_;  // open addressing; a power of two of them
  uint32_t round_ = 0;
  uint32_t n_ = 0;
  uint32_t at_ = 0;
  TorchGenerator generator_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_SEARCH_RANDPERM_HEAD_H_
