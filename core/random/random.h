// SPDX-License-Identifier: Apache-2.0
// The project's own random numbers. They are specified bit for bit, so that the
// same seed gives the same plan with every compiler, library and machine, for
// ever. All arithmetic is on unsigned 64-bit integers and wraps. A change of
// any constant here changes every plan. The golden vectors in
// tests/core/random/random_test.cc check them.
//
// Mix64(z), a bijection (the finaliser of SplitMix64; Steele, Lea, Flood, "Fast
// splittable pseudorandom number generators", 2014):
//   z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
//   z = (z ^ (z >> 27)) * 0x94D049BB133111EB
//   return z ^ (z >> 31)
//
// Rng, the generator SplitMix64. Its state starts as the key, and
//   Next(): state += 0x9E3779B97F4A7C15; return Mix64(state)
//
// Bounded(n), n >= 1, uniform over [0, n) without bias (Lemire, "Fast random
// integer generation in an interval", 2019):
//   do m = Next() * n, as 128 bits; while (m mod 2^64) < (2^64 mod n)
//   return m / 2^64
//
// DeriveKey(seed, epoch, stratum, purpose):
//   k = Mix64(seed + 0x9E3779B97F4A7C15)
//   k = Mix64((k ^ epoch) + 0x9E3779B97F4A7C15)
//   k = Mix64((k ^ stratum) + 0x9E3779B97F4A7C15)
//   return Mix64((k ^ purpose) + 0x9E3779B97F4A7C15)
// SubKey(key, index):
//   return Mix64((Mix64(key) ^ index) + 0x9E3779B97F4A7C15)
// Each step is a bijection in each of its arguments: two derivations that
// differ in one argument never give the same key.
//
// Not for cryptography. Plain values. An Rng belongs to one thread.
#ifndef SHUFFLEFS_CORE_RANDOM_RANDOM_H_
#define SHUFFLEFS_CORE_RANDOM_RANDOM_H_

#include <cstdint>

#include "core/base/types.h"

namespace shufflefs {

// The key of one stream of random numbers or of one permutation.
using RandomKey = StrongInt<struct RandomKeyTag, uint64_t>;

// The purpose of a key. Two purposes never share a stream. The numbers are part
// of the keys: never renumber, only append.
enum class Purpose : uint64_t {
  kOrder = 1,         // which sample is at which position
  kListing = 2,       // the order in which names are listed
  kBlockOrder = 3,    // which block is at which place of an epoch
  kInsideBlock = 4,   // samples inside a block or batch of blocks
  kRotation = 5,      // where a listing starts
  kShuffleQueue = 6,  // draws of the window policy
  kMeasure = 7,       // sampling for reports; never seen by a reader
  kTest = 8,          // tests and benchmarks
  kComposition = 9,   // which samples form a chunk, permanently
  kBinding = 10,      // draws of a reactive policy
  kMiniEpoch = 11,    // samples of a mini-epoch, and their order
  kNodeShares = 12,   // which node of a job owns a chunk
};

namespace random_internal {

inline constexpr uint64_t kGamma = 0x9E3779B97F4A7C15ULL;

__extension__ using Uint128 = unsigned __int128;

}  // namespace random_internal

constexpr uint64_t Mix64(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

// The key for `purpose` of a stratum (Stratum::key) in an epoch.
RandomKey DeriveKey(Seed seed, Epoch epoch, uint64_t stratum, Purpose purpose);

// The key of the index-th part (block, batch, …) of the object that `key` is
// for.
RandomKey SubKey(RandomKey key, uint64_t index);

class Rng {
 public:
  explicit Rng(RandomKey key) : state_(key.value()) {}

  // 64 uniform bits.
  uint64_t Next() {
    state_ += random_internal::kGamma;
    return Mix64(state_);
  }

  // Uniform over [0, n). REQUIRES: n >= 1.
  uint64_t Bounded(uint64_t n) {
    using random_internal::Uint128;
    Uint128 m = static_cast<Uint128>(Next()) * n;
    // 2^64 mod n < n, so the division is needed only below n.
    if (static_cast<uint64_t>(m) < n) {
      const uint64_t threshold = (0 - n) % n;
      while (static_cast<uint64_t>(m) < threshold) {
        m = static_cast<Uint128>(Next()) * n;
      }
    }
    return static_cast<uint64_t>(m >> 64);
  }

 private:
  uint64_t state_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RANDOM_RANDOM_H_
