// SPDX-License-Identifier: Apache-2.0
// Permutation is a keyed bijection of [0, n) in O(1) memory: position i ->
// element, and back, without a table of n. One of these per group, block or
// batch is all the randomness of a planned epoch. Make it on the stack where
// you use it: making one costs about 10 to 90 ns, an element about 10 to 30 ns.
//
// Specified bit for bit (golden vectors:
// tests/core/random/permutation_test.cc). The arithmetic is unsigned 64-bit and
// wraps. Rng and RandomKey are those of core/random/random.h.
//
// n <= 32: exactly uniform over all n! permutations, up to the quality of Rng.
//   Fisher-Yates: t[i] = i; for m = n, n-1, …, 2: swap t[m-1] and t[d], where
//   d is drawn by Rng(key).Bounded(m).
//
// n > 32: an alternating unbalanced Feistel network over [0, a) x [0, b) with
// cycle walking (Black, Rogaway, "Ciphers with arbitrary finite domains", 2002,
// their generalised Feistel cipher). a is a power of two, so that an element
// splits without a division. b makes the domain tight:
//     k = floor((floor(log2 n) + 1) / 2), a = 2^k, b = ceil(n / a)
//   a*b - n < a, so an element walks on with probability below a/n < sqrt(2/n).
//   Round keys: K[r] = r-th Rng(key).Next(), r = 0 … rounds-1, and with
//     F(x, K): y = x * 0xD6E8FEB86659FD93 + K
//              p = y * (y ^ 0xA0761D6478BD642F), as 128 bits
//              return (p / 2^64) ^ (p mod 2^64)
//   Encrypt(x): lo = x mod a, hi = x / a; for r = 0, 2, 4, … rounds-2:
//     lo = (lo + F(hi, K[r])) mod a
//     hi = (hi + floor(F(lo, K[r+1]) * b / 2^64)) mod b
//     return hi * a + lo
//   Apply(i): do i = Encrypt(i) while i >= n; return i.
//   Two elements that share a half stay related only while they keep colliding
//   in it, about sqrt(n)^(-rounds/2). Hence the rounds: 10 below n = 2^10, 8
//   below 2^20, 6 from there. (At n = 33, 10^6 keys distinguish pairs from
//   uniform ones at 8 rounds, but not at 10.) a is even, so odd permutations
//   occur as well.
//
// Not for cryptography. Immutable; any thread may call.
#ifndef SHUFFLEFS_CORE_RANDOM_PERMUTATION_H_
#define SHUFFLEFS_CORE_RANDOM_PERMUTATION_H_

#include <array>
#include <cstdint>

#include "core/random/random.h"

namespace shufflefs {

class Permutation {
 public:
  static constexpr uint64_t kMaxSize = uint64_t{1} << 40;

  // A permutation of [0, size). REQUIRES: size <= kMaxSize.
  Permutation(uint64_t size, RandomKey key);

  uint64_t size() const { return size_; }

  // The element at position `i`. REQUIRES: i < size().
  uint64_t Apply(uint64_t i) const {
    if (size_ <= kTableSize) return table_.forward[i % kTableSize];
    do {
      i = Encrypt(i);
    } while (i >= size_);
    return i;
  }
  uint64_t operator()(uint64_t i) const { return Apply(i); }

  // The position of element `j`: Inverse(Apply(i)) == i. REQUIRES: j < size().
  uint64_t Inverse(uint64_t j) const {
    if (size_ <= kTableSize) return table_.inverse[j % kTableSize];
    do {
      j = Decrypt(j);
    } while (j >= size_);
    return j;
  }

 private:
  // A power of two. `% kTableSize` changes nothing, but proves to a compiler
  // that inlines a call with a large constant that the table is not overrun.
  static constexpr uint64_t kTableSize = 32;
  static constexpr int kMaxRounds = 10;

  struct Table {
    std::array<uint8_t, kTableSize> forward;
    std::array<uint8_t, kTableSize> inverse;
  };

  static uint64_t RoundFunction(uint64_t x, uint64_t key) {
    const uint64_t y = x * 0xD6E8FEB86659FD93ULL + key;
    const auto p =
        static_cast<random_internal::Uint128>(y) * (y ^ 0xA0761D6478BD642FULL);
    return static_cast<uint64_t>(p >> 64) ^ static_cast<uint64_t>(p);
  }

  // A number below high_size_ from the 64 bits of a round function.
  uint64_t Scale(uint64_t f) const {
    return static_cast<uint64_t>(
        (static_cast<random_internal::Uint128>(f) * high_size_) >> 64);
  }

  uint64_t Encrypt(uint64_t x) const {
    uint64_t lo = x & low_mask_;
    uint64_t hi = x >> low_bits_;
    for (int r = 0; r < rounds_; r += 2) {
      lo = (lo + RoundFunction(hi, keys_[r])) & low_mask_;
      hi += Scale(RoundFunction(lo, keys_[r + 1]));
      hi -= hi >= high_size_ ? high_size_ : 0;
    }
    return hi << low_bits_ | lo;
  }

  uint64_t Decrypt(uint64_t x) const {
    uint64_t lo = x & low_mask_;
    uint64_t hi = x >> low_bits_;
    for (int r = rounds_ - 2; r >= 0; r -= 2) {
      const uint64_t f = Scale(RoundFunction(lo, keys_[r + 1]));
      hi += hi >= f ? 0 : high_size_;
      hi -= f;
      lo = (lo - RoundFunction(hi, keys_[r])) & low_mask_;
    }
    return hi << low_bits_ | lo;
  }

  void MakeTable(RandomKey key);
  void MakeNetwork(RandomKey key);

  // Constant after construction.
  uint64_t size_;
  uint64_t high_size_;  // b
  uint64_t low_mask_;   // a - 1
  int low_bits_;        // log2 a
  int rounds_;          // even; 0 if the table is used
  union {
    std::array<uint64_t, kMaxRounds> keys_;  // size_ > kTableSize
    Table table_;                            // size_ <= kTableSize
  };
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RANDOM_PERMUTATION_H_
