// SPDX-License-Identifier: Apache-2.0
#include "core/sampler/search/randperm_head.h"

#include <bit>
#include <cstddef>

namespace shufflefs {

RandpermHead::RandpermHead(uint32_t limit)
    : slots_(std::bit_ceil(2 * limit + 2)), generator_(0) {}

void RandpermHead::Restart(uint32_t n, uint64_t seed, uint64_t outputs_before) {
  if (++round_ == 0) {  // after 2^32 rounds old slots look taken
    slots_.assign(slots_.size(), {});
    round_ = 1;
  }
  n_ = n;
  at_ = 0;
  generator_ = TorchGenerator(seed);
  generator_.Discard(outputs_before);
}

uint32_t RandpermHead::Next() {
  const uint32_t i = at_++;
  const uint32_t z = i + generator_.Random() % (n_ - i);
  const Slot& here = Find(i);
  const uint32_t left = here.round == round_ ? here.index : i;
  Slot& there = Find(z);
  const uint32_t taken = there.round == round_ ? there.index : z;
  there = {z, left, round_};
  return taken;
}

RandpermHead::Slot& RandpermHead::Find(uint32_t position) {
  const size_t mask = slots_.size() - 1;
  size_t at = (position * 2654435769U >> 7) & mask;
  while (slots_[at].round == round_ && slots_[at].position != position) {
    at = (at + 1) & mask;
  }
  return slots_[at];
}

}  // namespace shufflefs
