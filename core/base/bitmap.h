// SPDX-License-Identifier: Apache-2.0
// Bitmap has one bit per name. Not thread-safe. An index out of range is
// undefined behaviour.
#ifndef SHUFFLEFS_CORE_BASE_BITMAP_H_
#define SHUFFLEFS_CORE_BASE_BITMAP_H_

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace shufflefs {

class Bitmap {
 public:
  explicit Bitmap(uint64_t names) : words_((names + 63) / 64) {}

  bool Get(uint64_t name) const {
    return (words_[name >> 6] >> (name & 63) & 1) != 0;
  }
  // Returns whether the bit was clear before.
  bool Set(uint64_t name) {
    uint64_t& word = words_[name >> 6];
    const uint64_t bit = uint64_t{1} << (name & 63);
    const bool was_clear = (word & bit) == 0;
    word |= bit;
    return was_clear;
  }
  void Clear(uint64_t name) {
    words_[name >> 6] &= ~(uint64_t{1} << (name & 63));
  }
  void ClearAll() { words_.assign(words_.size(), 0); }
  void Swap(Bitmap& other) { words_.swap(other.words_); }

  // Calls visit(name) for each set bit, in rising order.
  template <typename Visit>
  void ForEach(Visit&& visit) const {
    for (uint64_t i = 0; i < words_.size(); ++i) {
      for (uint64_t word = words_[i]; word != 0; word &= word - 1) {
        visit(i * 64 + static_cast<uint64_t>(std::countr_zero(word)));
      }
    }
  }

  uint64_t memory_bytes() const { return words_.capacity() * 8; }

 private:
  std::vector<uint64_t> words_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_BITMAP_H_
