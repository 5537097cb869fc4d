// SPDX-License-Identifier: Apache-2.0
#include "core/ledger/packed_pairs.h"

#include <algorithm>
#include <cstddef>

namespace shufflefs {

void PackedPairs::Add(const NameBinding& pair) {
  const uint64_t at = size_ * 2 * width_;
  words_.resize(WordsFor(size_ + 1, width_));
  Put(pair.name, at);
  Put(pair.sample, at + width_);
  ++size_;
}

PackedPairs PackedPairs::Part(uint64_t first, uint64_t count) const {
  count = std::min(count, size_ - first);
  const auto begin =
      words_.begin() + static_cast<std::ptrdiff_t>(WordsFor(first, width_));
  const auto length = static_cast<std::ptrdiff_t>(WordsFor(count, width_));
  return {count, width_, std::vector<uint64_t>(begin, begin + length)};
}

void PackedPairs::Put(uint64_t number, uint64_t at) {
  const uint64_t shift = at % 64;
  words_[at / 64] |= number << shift;
  if (shift + width_ > 64) words_[at / 64 + 1] |= number >> (64 - shift);
}

}  // namespace shufflefs
