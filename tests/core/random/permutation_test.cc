// SPDX-License-Identifier: Apache-2.0
// The golden vectors were computed by a separate program written from the
// text of core/random/permutation.h.
#include "core/random/permutation.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

constexpr uint64_t kKey = 42;

std::vector<uint64_t> All(uint64_t n, uint64_t key) {
  const Permutation p(n, RandomKey(key));
  std::vector<uint64_t> out(n);
  for (uint64_t i = 0; i < n; ++i) out[i] = p(i);
  return out;
}

// At 0, 1, 2, the middle and the last two positions.
std::vector<uint64_t> Sampled(uint64_t n) {
  const Permutation p(n, RandomKey(kKey));
  return {p(0), p(1), p(2), p(n / 2), p(n - 2), p(n - 1)};
}

// Empty if `p` is a bijection of [0, n) and Inverse its inverse; else what is
// wrong.
std::string Defect(const Permutation& p) {
  std::vector<bool> seen(p.size());
  for (uint64_t i = 0; i < p.size(); ++i) {
    const uint64_t j = p.Apply(i);
    if (j >= p.size()) return "out of range at " + std::to_string(i);
    if (seen[j]) return "twice: " + std::to_string(j);
    if (p.Inverse(j) != i) return "wrong inverse of " + std::to_string(j);
    seen[j] = true;
  }
  return "";
}

TEST(PermutationTest, GoldenTable) {
  EXPECT_THAT(All(1, kKey), ElementsAre(0));
  EXPECT_THAT(All(2, kKey), ElementsAre(0, 1));
  EXPECT_THAT(All(7, kKey), ElementsAre(2, 3, 6, 4, 1, 0, 5));
  EXPECT_THAT(All(32, kKey),
              ElementsAreArray({22, 6,  2,  12, 16, 21, 13, 19, 18, 25, 0,
                                17, 26, 15, 7,  27, 3,  11, 28, 24, 10, 30,
                                14, 29, 20, 5,  31, 1,  9,  8,  4,  23}));
}

TEST(PermutationTest, GoldenNetwork) {
  EXPECT_THAT(Sampled(33), ElementsAre(19, 30, 22, 13, 10, 5));
  EXPECT_THAT(Sampled(100), ElementsAre(20, 14, 89, 79, 6, 21));
  EXPECT_THAT(Sampled(1000), ElementsAre(107, 514, 950, 873, 772, 291));
  EXPECT_THAT(Sampled(1024), ElementsAre(239, 713, 261, 297, 91, 857));
  EXPECT_THAT(Sampled(65536),
              ElementsAre(22095, 35667, 40311, 42427, 24582, 26554));
  EXPECT_THAT(Sampled(1000003),
              ElementsAre(846787, 806615, 523512, 933168, 53754, 500579));
  EXPECT_THAT(Sampled(1 << 20),
              ElementsAre(376270, 575670, 6070, 163306, 391674, 602563));
  EXPECT_THAT(Sampled((uint64_t{1} << 31) + 12345),
              ElementsAre(234534698, 427852652, 1704643735, 1651874436,
                          779896736, 1564689817));
  EXPECT_THAT(Sampled(uint64_t{1} << 40),
              ElementsAre(159772624460, 620274380245, 833273477861,
                          200264126105, 385795726464, 657348007451));
}

TEST(PermutationTest, EmptyHasNoElements) {
  EXPECT_EQ(Permutation(0, RandomKey(kKey)).size(), 0u);
  EXPECT_EQ(Defect(Permutation(0, RandomKey(kKey))), "");
}

TEST(PermutationTest, BijectiveForEverySizeTo2000) {
  for (uint64_t n = 0; n <= 2000; ++n) {
    ASSERT_EQ(Defect(Permutation(n, RandomKey(n * 7 + 1))), "") << n;
  }
}

TEST(PermutationTest, BijectiveAroundPowersOfTwo) {
  for (int bits = 11; bits <= 18; ++bits) {
    for (int off : {-1, 0, 1}) {
      const uint64_t n = (uint64_t{1} << bits) + static_cast<uint64_t>(off);
      ASSERT_EQ(Defect(Permutation(n, RandomKey(n))), "") << n;
    }
  }
}

TEST(PermutationTest, BijectiveForLargerSizes) {
  const uint64_t seed = 20240607;
  Rng rng((RandomKey(seed)));
  for (int i = 0; i < 8; ++i) {
    const uint64_t n = 2000 + rng.Bounded(1 << 19);
    ASSERT_EQ(Defect(Permutation(n, RandomKey(rng.Next()))), "")
        << n << " of seed " << seed;
  }
  EXPECT_EQ(Defect(Permutation((1 << 20) + 7, RandomKey(1))), "");
}

TEST(PermutationTest, InverseAndRangeAtSizesTooLargeToWalk) {
  const uint64_t seed = 31;
  Rng rng((RandomKey(seed)));
  for (int i = 0; i < 3000; ++i) {
    const uint64_t n =
        Permutation::kMaxSize -
        (i < 100 ? i : rng.Bounded(Permutation::kMaxSize - (1 << 20)));
    const Permutation p(n, RandomKey(rng.Next()));
    for (uint64_t at : {uint64_t{0}, n - 1, rng.Bounded(n), rng.Bounded(n)}) {
      const uint64_t j = p(at);
      ASSERT_LT(j, n) << "seed " << seed;
      ASSERT_EQ(p.Inverse(j), at) << n << " of seed " << seed;
      ASSERT_EQ(p(p.Inverse(at)), at) << n << " of seed " << seed;
    }
  }
}

TEST(PermutationTest, CopyIsTheSamePermutation) {
  for (uint64_t n : {7, 700}) {
    const Permutation p(n, RandomKey(kKey));
    const Permutation copy = p;
    for (uint64_t i = 0; i < n; ++i) ASSERT_EQ(copy(i), p(i));
  }
}

}  // namespace
}  // namespace shufflefs
