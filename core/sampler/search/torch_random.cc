// SPDX-License-Identifier: Apache-2.0
#include "core/sampler/search/torch_random.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace shufflefs {
namespace {

uint32_t Twist(uint32_t upper, uint32_t lower, uint32_t far) {
  const uint32_t mixed =
      (upper & mt19937::kUpperMask) | (lower & mt19937::kLowerMask);
  return far ^ (mixed >> 1) ^ ((0 - (lower & 1)) & mt19937::kTwist);
}

std::vector<uint32_t> FromTheFront(uint32_t n, TorchGenerator& generator) {
  std::vector<uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  for (uint32_t i = 0; i + 1 < n; ++i) {
    std::swap(order[i], order[i + generator.Random() % (n - i)]);
  }
  return order;
}

std::vector<uint32_t> InsideOut(uint32_t n, TorchGenerator& generator) {
  std::vector<uint32_t> order(n);
  for (uint32_t i = 0; i < n; ++i) {
    const uint64_t z = generator.Random64() % (uint64_t{i} + 1);
    order[i] = order[z];
    order[z] = i;
  }
  return order;
}

}  // namespace

TorchGenerator::TorchGenerator(uint64_t seed) {
  words_[0] = static_cast<uint32_t>(seed);
  for (uint32_t i = 1; i < mt19937::kWords; ++i) {
    const uint32_t last = words_[i - 1];
    words_[i] = mt19937::kFill * (last ^ (last >> 30)) + i;
  }
}

void TorchGenerator::NextState() {
  for (uint32_t i = 0; i < mt19937::kWords - mt19937::kShift; ++i) {
    words_[i] = Twist(words_[i], words_[i + 1], words_[i + mt19937::kShift]);
  }
  for (uint32_t i = mt19937::kWords - mt19937::kShift; i + 1 < mt19937::kWords;
       ++i) {
    words_[i] = Twist(words_[i], words_[i + 1],
                      words_[i + mt19937::kShift - mt19937::kWords]);
  }
  words_[mt19937::kWords - 1] = Twist(words_[mt19937::kWords - 1], words_[0],
                                      words_[mt19937::kShift - 1]);
  used_ = 0;
}

void TorchGenerator::Discard(uint64_t outputs) {
  while (outputs > 0) {
    if (used_ == mt19937::kWords) NextState();
    const uint64_t step = std::min<uint64_t>(outputs, mt19937::kWords - used_);
    used_ += static_cast<uint32_t>(step);
    outputs -= step;
  }
}

std::vector<uint32_t> TorchRandperm(uint32_t n, TorchGenerator& generator) {
  return n >= kLargeRandperm ? InsideOut(n, generator)
                             : FromTheFront(n, generator);
}

std::vector<uint32_t> TorchRandperm(uint32_t n, uint64_t seed) {
  TorchGenerator generator(seed);
  return TorchRandperm(n, generator);
}

}  // namespace shufflefs
