// SPDX-License-Identifier: Apache-2.0
// Counts and finds bits in one 64-bit word in plain C++, because the baseline
// instruction set has no instruction for it.
#ifndef SHUFFLEFS_CORE_RECORDS_INDEX_WORD_SELECT_H_
#define SHUFFLEFS_CORE_RECORDS_INDEX_WORD_SELECT_H_

#include <bit>
#include <cstdint>

namespace shufflefs {

// The lowest `width` bits. REQUIRES: width < 64.
inline uint64_t LowBits(uint32_t width) { return (uint64_t{1} << width) - 1; }

inline constexpr uint64_t kOneInEachByte = 0x0101010101010101;

// For each b: the number of bits set in the bytes 0 .. b of `word`, in byte b.
inline uint64_t BitsByByte(uint64_t word) {
  word -= word >> 1 & 0x5555555555555555;
  word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
  word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f;
  return word * kOneInEachByte;
}

inline uint64_t BitsIn(uint64_t word) { return BitsByByte(word) >> 56; }

// The position of the set bit that has `index` set bits before it. REQUIRES:
// index < BitsIn(word).
inline uint64_t SelectInWord(uint64_t word, uint64_t index) {
  const uint64_t sums = BitsByByte(word);
  // The top bit of each byte says whether its sum is at most `index`. A sum is
  // at most 64 and an index at most 63, so no byte borrows from the next.
  const uint64_t passed =
      ((index * kOneInEachByte | kOneInEachByte << 7) - sums) & kOneInEachByte
                                                                    << 7;
  const uint64_t at = 8 * ((passed >> 7) * kOneInEachByte >> 56);
  const uint64_t before = (sums << 8) >> at & 0xff;
  uint64_t byte = word >> at & 0xff;
  for (uint64_t left = index - before; left > 0; --left) byte &= byte - 1;
  return at + static_cast<uint64_t>(std::countr_zero(byte));
}

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_INDEX_WORD_SELECT_H_
