// SPDX-License-Identifier: Apache-2.0
// PackedPairs is a list of pairs of a name and a sample, in order. A pair takes
// twice the bits of the largest number: 5 bytes for a million names, where a
// struct takes 16. Not thread-safe.
#ifndef SHUFFLEFS_CORE_LEDGER_PACKED_PAIRS_H_
#define SHUFFLEFS_CORE_LEDGER_PACKED_PAIRS_H_

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/policy/retained_bindings.h"

namespace shufflefs {

class PackedPairs {
 public:
  static constexpr uint32_t kMaxWidth = 40;  // bits per number

  // Names and samples are below `limit`, at most 2^40.
  explicit PackedPairs(uint64_t limit)
      : width_(limit < 2 ? 1
                         : static_cast<uint32_t>(std::bit_width(limit - 1))) {}
  // `count` pairs of numbers of `width` bits, from the result of words().
  // REQUIRES: 1 <= width <= kMaxWidth; words.size() is WordsFor(count, width).
  PackedPairs(uint64_t count, uint32_t width, std::vector<uint64_t> words)
      : width_(width), size_(count), words_(std::move(words)) {}

  // REQUIRES: name and sample are below the limit.
  void Add(const NameBinding& pair);
  uint64_t size() const { return size_; }
  // REQUIRES: index < size().
  NameBinding operator[](uint64_t index) const {
    const uint64_t at = index * 2 * width_;
    return {Number(at), Number(at + width_)};
  }

  // At most `count` pairs from `first` on. REQUIRES: first <= size(), and first
  // is a multiple of 64.
  PackedPairs Part(uint64_t first, uint64_t count) const;
  // Releases memory reserved for more pairs.
  void Trim() { words_.shrink_to_fit(); }

  // Names and samples alternate. Number i is in the bits from i * width() on,
  // lowest first.
  uint32_t width() const { return width_; }
  absl::Span<const uint64_t> words() const { return words_; }
  static uint64_t WordsFor(uint64_t count, uint32_t width) {
    return (count * 2 * width + 63) / 64;
  }
  uint64_t memory_bytes() const { return words_.capacity() * 8; }

 private:
  void Put(uint64_t number, uint64_t at);
  uint64_t Number(uint64_t at) const {
    const uint64_t shift = at % 64;
    uint64_t number = words_[at / 64] >> shift;
    if (shift + width_ > 64) number |= words_[at / 64 + 1] << (64 - shift);
    return number & ((uint64_t{1} << width_) - 1);
  }

  uint32_t width_;
  uint64_t size_ = 0;
  std::vector<uint64_t> words_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_LEDGER_PACKED_PAIRS_H_
