// SPDX-License-Identifier: Apache-2.0
#include "core/sampler/epoch_opens.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <string>
#include <vector>

#include "core/random/random.h"
#include "gtest/gtest.h"
#include "tests/testing/torch_loaders.h"

namespace shufflefs {
namespace {

// Opens that much of an order; how many were opened before another epoch was
// seen to begin, or nothing.
std::vector<uint64_t> BoundariesIn(EpochOpens& opens,
                                   const std::vector<uint32_t>& indices) {
  std::vector<uint64_t> boundaries;
  for (size_t i = 0; i < indices.size(); ++i) {
    const std::vector<EpochOpens::Open> first = opens.Note({indices[i], 1});
    if (!first.empty()) boundaries.push_back(i + 1 - first.size());
  }
  return boundaries;
}

std::vector<uint32_t> Joined(const std::vector<uint32_t>& a,
                             const std::vector<uint32_t>& b) {
  std::vector<uint32_t> both = a;
  both.insert(both.end(), b.begin(), b.end());
  return both;
}

TEST(EpochOpensTest, AnEpochEndsWhereTheNextBegins) {
  EpochOpens opens(1000);
  const auto indices = Joined(TorchRandperm(1000, 1), TorchRandperm(1000, 2));
  EXPECT_EQ(BoundariesIn(opens, indices), std::vector<uint64_t>{1000});
  EXPECT_EQ(opens.count(), 1000u);
}

TEST(EpochOpensTest, TheFirstOpensAreThoseOfTheNewEpoch) {
  EpochOpens opens(1000);
  BoundariesIn(opens, TorchRandperm(1000, 1));
  const std::vector<uint32_t> next = TorchRandperm(1000, 2);
  for (size_t i = 0; i < 8; ++i) {
    const std::vector<EpochOpens::Open> first = opens.Note({next[i], i});
    ASSERT_EQ(first.size(), i < 7 ? 0u : 8u);
    for (size_t k = 0; k < first.size(); ++k) {
      EXPECT_EQ(first[k].index, next[k]);
      EXPECT_EQ(first[k].thread, k);
      EXPECT_TRUE(opens.opened()[next[k]]);
    }
  }
  EXPECT_EQ(opens.count(), 8u);
}

TEST(EpochOpensTest, AFileThatIsOpenedTwiceBeginsNothing) {
  EpochOpens opens(1000);
  std::vector<uint32_t> indices;
  for (const uint32_t index : TorchRandperm(1000, 1)) {
    indices.insert(indices.end(), {index, index});
  }
  EXPECT_TRUE(BoundariesIn(opens, indices).empty());
}

TEST(EpochOpensTest, PaddingBeginsNothing) {
  EpochOpens opens(1000);
  std::vector<uint32_t> indices = TorchRandperm(1000, 1);
  indices.insert(indices.end(), indices.begin(), indices.begin() + 7);
  EXPECT_TRUE(BoundariesIn(opens, indices).empty());
}

TEST(EpochOpensTest, AnEpochThatWasBrokenOffEndsSoonAfter) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    EpochOpens opens(3000);
    std::vector<uint32_t> part = TorchRandperm(3000, seed);
    part.resize(1500);
    const auto boundaries =
        BoundariesIn(opens, Joined(part, TorchRandperm(3000, seed + 1000)));
    ASSERT_FALSE(boundaries.empty());
    EXPECT_GE(boundaries.front(), 1500u);
    EXPECT_LE(boundaries.front(), 1550u);
  }
}

TEST(EpochOpensTest, DrawsWithReplacementAreSeenSoon) {
  for (const uint32_t n : {1000u, 20000u, 300000u}) {
    SCOPED_TRACE("n " + std::to_string(n));
    Rng rng = Rng(RandomKey(n));
    EpochOpens opens(n);
    uint64_t count = 0;
    for (; count < n && !opens.draws_again(); ++count) {
      opens.Note({static_cast<uint32_t>(rng.Bounded(n)), 1});
    }
    EXPECT_LE(count, 8 * std::sqrt(n));
  }
}

// As where the kernel answers what was read lately.
TEST(EpochOpensTest, DrawsThatAreHiddenForAWhileAreSeenLater) {
  constexpr uint32_t kFiles = 20000;
  constexpr size_t kCached = 2500;
  Rng rng = Rng(RandomKey(3));
  EpochOpens opens(kFiles);
  std::deque<uint32_t> cached;
  uint64_t count = 0;
  for (; count < kFiles && !opens.draws_again(); ++count) {
    const uint32_t index = static_cast<uint32_t>(rng.Bounded(kFiles));
    const bool hidden =
        std::find(cached.begin(), cached.end(), index) != cached.end();
    if (!hidden) opens.Note({index, 1});
    cached.push_back(index);
    if (cached.size() > kCached) cached.pop_front();
  }
  EXPECT_LE(count, 2 * kCached);
}

TEST(EpochOpensTest, AnOrderIsNoDraw) {
  for (const uint32_t n : {256u, 20000u}) {
    for (const uint32_t share : {3, 5, 10}) {
      SCOPED_TRACE("n " + std::to_string(n) + " / " + std::to_string(share));
      EpochOpens opens(n);
      std::vector<uint32_t> part = TorchRandperm(n, 1);
      part.resize(n / share);
      BoundariesIn(opens, part);
      EXPECT_FALSE(opens.draws_again());
      // Nor are two of which the first was broken off, unless so early that
      // the second is not seen to begin.
      if (n < 1000 || share == 10) continue;
      BoundariesIn(opens, TorchRandperm(n, 2));
      EXPECT_FALSE(opens.draws_again());
    }
  }
}

TEST(EpochOpensTest, StragglersOfTheLastEpochDoNotEndTheNext) {
  EpochOpens opens(1000);
  std::vector<uint32_t> first = TorchRandperm(1000, 1);
  std::vector<uint32_t> second = TorchRandperm(1000, 2);
  // Another rank ends its pass when this one has long begun the next.
  std::vector<uint32_t> mixed(first.begin(), first.begin() + 970);
  for (size_t i = 0; i < 30; ++i) {
    mixed.insert(mixed.end(), {second[i], first[970 + i]});
  }
  mixed.insert(mixed.end(), second.begin() + 30, second.end());
  EXPECT_EQ(BoundariesIn(opens, mixed).size(), 1u);
}

}  // namespace
}  // namespace shufflefs
