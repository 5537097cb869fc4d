// SPDX-License-Identifier: Apache-2.0
// RandpermHead computes the first indices of a TorchRandperm, one after the
// other, without the rest. k indices cost O(k) time for any n, so many seeds
// can be tested. Use it from one thread.
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

  // Begins the permutation of [0, n) by a generator with this seed that already
  // gave `outputs_before` outputs. REQUIRES: n < kLargeRandperm.
  void Restart(uint32_t n, uint64_t seed, uint64_t outputs_before = 0);

  // Returns the next index. REQUIRES: fewer than n and fewer than `limit` were
  // taken.
  uint32_t Next();

 private:
  // The index that a swap left at a position not yet reached.
  struct Slot {
    uint32_t position;
    uint32_t index;
    uint32_t round;  // slots of other rounds are free
  };
  Slot& Find(uint32_t position);

  std::vector<Slot> slots_;  // open addressing; the size is a power of two
  uint32_t round_ = 0;
  uint32_t n_ = 0;
  uint32_t at_ = 0;
  TorchGenerator generator_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_SEARCH_RANDPERM_HEAD_H_
