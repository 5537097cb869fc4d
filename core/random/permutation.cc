// SPDX-License-Identifier: Apache-2.0
#include "core/random/permutation.h"

#include <bit>
#include <utility>

namespace shufflefs {
namespace {

int RoundsFor(uint64_t size) {
  if (size < uint64_t{1} << 10) return 10;
  if (size < uint64_t{1} << 20) return 8;
  return 6;
}

}  // namespace

Permutation::Permutation(uint64_t size, RandomKey key)
    : size_(size), high_size_(0), low_mask_(0), low_bits_(0), rounds_(0) {
  if (size <= kTableSize) {
    MakeTable(key);
  } else {
    MakeNetwork(key);
  }
}

void Permutation::MakeTable(RandomKey key) {
  table_ = Table{};
  Rng rng(key);
  auto& forward = table_.forward;
  for (uint64_t i = 0; i < size_; ++i) forward[i] = static_cast<uint8_t>(i);
  for (uint64_t m = size_; m >= 2; --m) {
    std::swap(forward[m - 1], forward[rng.Bounded(m)]);
  }
  for (uint64_t i = 0; i < size_; ++i) {
    table_.inverse[forward[i]] = static_cast<uint8_t>(i);
  }
}

void Permutation::MakeNetwork(RandomKey key) {
  const int floor_log2 = static_cast<int>(std::bit_width(size_)) - 1;
  low_bits_ = (floor_log2 + 1) / 2;
  low_mask_ = (uint64_t{1} << low_bits_) - 1;
  high_size_ = (size_ + low_mask_) >> low_bits_;
  rounds_ = RoundsFor(size_);
  keys_ = {};
  Rng rng(key);
  for (int r = 0; r < rounds_; ++r) keys_[r] = rng.Next();
}

}  // namespace shufflefs
