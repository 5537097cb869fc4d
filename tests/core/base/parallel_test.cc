// SPDX-License-Identifier: Apache-2.0
#include "core/base/parallel.h"

#include <atomic>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace shufflefs {
namespace {

TEST(ParallelTest, TheFirstThatHoldsIsThatOfAPlainSearch) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    const uint64_t count = random() % 300;
    std::vector<char> holds(count);
    for (int k = random() % 4; count > 0 && k > 0; --k) {
      holds[random() % count] = 1;
    }
    uint64_t expected = 0;
    while (expected < count && holds[expected] == 0) ++expected;
    const ParallelOptions options{.threads = 4, .chunk = 1 + random() % 20};
    EXPECT_EQ(ParallelFirst(count, options,
                            [&](uint64_t i) { return holds[i] != 0; }),
              expected);
  }
}

TEST(ParallelTest, EachRangeBeginsAtAMultipleOfTheChunk) {
  std::atomic<uint64_t> items = 0;
  const ParallelOptions options{.threads = 3, .chunk = 16};
  ParallelFor(100, options, [&](uint64_t begin, uint64_t end) {
    EXPECT_EQ(begin % 16, 0u);
    items += end - begin;
    return true;
  });
  EXPECT_EQ(items, 100u);
}

}  // namespace
}  // namespace shufflefs
