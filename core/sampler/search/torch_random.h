// SPDX-License-Identifier: Apache-2.0
// TorchGenerator gives the random numbers of PyTorch's CPU generator, bit for
// bit. PyTorch's samplers draw from them which file a training job opens next.
// tests/core/sampler/search/torch_random_test.cc compares them with real torch.
//
// The generator is the Mersenne Twister mt19937 (Matsumoto, Nishimura, 1998).
// Only the low 32 bits of the seed fill its state. So of torch's 64-bit seeds
// only 2^32 give different orders.
//
// randperm(n) is Fisher-Yates from the front: it swaps position i with i +
// output mod (n - i). So the first index is the first output mod n, and the
// first k indices need k outputs.
//
// Plain values. Use each generator from one thread.
#ifndef SHUFFLEFS_CORE_SAMPLER_SEARCH_TORCH_RANDOM_H_
#define SHUFFLEFS_CORE_SAMPLER_SEARCH_TORCH_RANDOM_H_

#include <array>
#include <cstdint>
#include <vector>

namespace shufflefs {

namespace mt19937 {

inline constexpr uint32_t kWords = 624;  // of the state
inline constexpr uint32_t kShift = 397;
inline constexpr uint32_t kUpperMask = 0x80000000;
inline constexpr uint32_t kLowerMask = 0x7FFFFFFF;
inline constexpr uint32_t kTwist = 0x9908B0DF;
inline constexpr uint32_t kFill = 1812433253;

}  // namespace mt19937

// torch.Generator() on the CPU (at::CPUGeneratorImpl).
class TorchGenerator {
 public:
  // The state is that after manual_seed(seed).
  explicit TorchGenerator(uint64_t seed);

  // Returns the next output.
  uint32_t Random() {
    if (used_ == mt19937::kWords) NextState();
    return Temper(words_[used_++]);
  }

  // Returns two outputs, the first in the high half. RandomSampler draws the
  // seed of an epoch this way, and DataLoader that of its workers
  // (torch.empty((), dtype=torch.int64).random_() clears the top bit).
  uint64_t Random64() {
    const uint64_t high = Random();
    return high << 32 | Random();
  }

  // Skips this many outputs.
  void Discard(uint64_t outputs);

  friend bool operator==(const TorchGenerator&,
                         const TorchGenerator&) = default;

 private:
  static uint32_t Temper(uint32_t y) {
    y ^= y >> 11;
    y ^= (y << 7) & 0x9D2C5680;
    y ^= (y << 15) & 0xEFC60000;
    return y ^ (y >> 18);
  }
  void NextState();

  std::array<uint32_t, mt19937::kWords> words_;
  uint32_t used_ = mt19937::kWords;  // of words_
};

// From here on outputs mod n would be noticeably uneven. Since pull request
// 143682 of pytorch/pytorch (2024), torch.randperm then uses another algorithm
// with 64-bit draws, which fixes no index before the last draw. Earlier
// versions went on as below. This takes too long for a unit test: torch 1.13
// and 2.15 gave the same as this code at kLargeRandperm and one less
// (torch_vectors.py --large). Below kLargeRandperm all versions agree.
inline constexpr uint32_t kLargeRandperm = 0xFFFFFFFF / 20;

// Returns torch.randperm(n, generator=generator). Takes n - 1 outputs, or 2 n
// if n >= kLargeRandperm.
std::vector<uint32_t> TorchRandperm(uint32_t n, TorchGenerator& generator);

// The same by a generator that was just seeded.
std::vector<uint32_t> TorchRandperm(uint32_t n, uint64_t seed);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_SEARCH_TORCH_RANDOM_H_
