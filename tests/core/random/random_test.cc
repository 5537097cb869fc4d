// SPDX-License-Identifier: Apache-2.0
// The golden vectors were computed by a separate program written from the
// text of core/random/random.h; the first two streams are SplitMix64's published
// ones.
#include "core/random/random.h"

#include <cstdint>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/quality/statistics.h"

namespace shufflefs {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Lt;

std::vector<uint64_t> FirstOf(uint64_t key, int count) {
  Rng rng((RandomKey(key)));
  std::vector<uint64_t> out;
  for (int i = 0; i < count; ++i) out.push_back(rng.Next());
  return out;
}

std::vector<uint64_t> DrawsBelow(uint64_t n, uint64_t key, int count) {
  Rng rng((RandomKey(key)));
  std::vector<uint64_t> out;
  for (int i = 0; i < count; ++i) out.push_back(rng.Bounded(n));
  return out;
}

uint64_t Derived(uint64_t seed, uint64_t epoch, uint64_t stratum,
                 uint64_t purpose) {
  return DeriveKey(Seed(seed), Epoch(epoch), stratum,
                   static_cast<Purpose>(purpose))
      .value();
}

TEST(RngTest, IsSplitMix64) {
  EXPECT_THAT(FirstOf(1234567, 5),
              ElementsAre(6457827717110365317ULL, 3203168211198807973ULL,
                          9817491932198370423ULL, 4593380528125082431ULL,
                          16408922859458223821ULL));
  EXPECT_THAT(FirstOf(0, 4),
              ElementsAre(0xE220A8397B1DCDAFULL, 0x6E789E6AA1B965F4ULL,
                          0x06C45D188009454FULL, 0xF88BB8A8724C81ECULL));
}

TEST(RngTest, BoundedGolden) {
  EXPECT_THAT(DrawsBelow(1, 99, 3), ElementsAre(0, 0, 0));
  EXPECT_THAT(DrawsBelow(6, 99, 5), ElementsAre(1, 0, 5, 0, 1));
  EXPECT_THAT(DrawsBelow(1000, 99, 5), ElementsAre(261, 31, 834, 102, 170));
}

TEST(RngTest, BoundedGoldenWhereDrawsAreRejected) {
  EXPECT_THAT(DrawsBelow(uint64_t{3} << 62, 99, 3),
              ElementsAre(3618289257387757802ULL, 11548949251290652220ULL,
                          1415594787570803105ULL));
  EXPECT_THAT(DrawsBelow((uint64_t{1} << 63) + 1, 99, 5),
              ElementsAre(2412192838258505201ULL, 943729858380535403ULL,
                          2164399061527425849ULL, 4820169792980186143ULL,
                          5093004042090514826ULL));
  EXPECT_THAT(DrawsBelow(~uint64_t{0}, 99, 2),
              ElementsAre(4824385676517010402ULL, 583982616703494563ULL));
}

TEST(RngTest, BoundedIsUniform) {
  for (uint64_t n : {2, 3, 7, 10, 100, 1000}) {
    std::vector<uint64_t> counts(n);
    Rng rng((RandomKey(n)));
    for (int i = 0; i < 200000; ++i) ++counts.at(rng.Bounded(n));
    EXPECT_LT(std::abs(ChiSquareDeviations(counts)), kMaxDeviations) << n;
  }
}

// Without rejection a range of 3/4 of 2^64 would give the multiples of three
// half of all draws.
TEST(RngTest, BoundedHasNoBiasInAVeryLargeRange) {
  const uint64_t n = uint64_t{3} << 62;
  std::vector<uint64_t> counts(3);
  Rng rng((RandomKey(5)));
  for (int i = 0; i < 100000; ++i) {
    const uint64_t draw = rng.Bounded(n);
    ASSERT_LT(draw, n);
    ++counts[draw % 3];
  }
  EXPECT_LT(std::abs(ChiSquareDeviations(counts)), kMaxDeviations);
}

TEST(RngTest, BitsAreBalancedAndUncorrelatedWithTheNextDraw) {
  constexpr int kDraws = 100000;
  Rng rng((RandomKey(17)));
  std::vector<double> ones(64);
  std::vector<double> same_as_next(64);
  uint64_t last = rng.Next();
  for (int i = 0; i < kDraws; ++i) {
    const uint64_t next = rng.Next();
    for (int bit = 0; bit < 64; ++bit) {
      ones[bit] += static_cast<double>(next >> bit & 1);
      same_as_next[bit] += static_cast<double>(~(next ^ last) >> bit & 1);
    }
    last = next;
  }
  for (int bit = 0; bit < 64; ++bit) {
    for (double count : {ones[bit], same_as_next[bit]}) {
      EXPECT_LT(std::abs(MeanDeviations(count / kDraws, 0.5, 0.25, kDraws)),
                kMaxDeviations)
          << "bit " << bit;
    }
  }
}

TEST(KeyTest, Golden) {
  EXPECT_EQ(Derived(0, 0, 0, 1), 0x2A4F111B3BE57715ULL);
  EXPECT_EQ(Derived(0, 1, 0, 1), 0x1833A3FC3B33A847ULL);
  EXPECT_EQ(Derived(1, 0, 0, 1), 0x3FA25E1657E024C1ULL);
  EXPECT_EQ(Derived(0, 0, 1, 1), 0x2270B27359DEF8DBULL);
  EXPECT_EQ(Derived(0, 0, 0, 2), 0x4F833D459789AC77ULL);
  EXPECT_EQ(Derived(~uint64_t{0}, 5, 0xDEADBEEF, 4), 0xD8DA401F928C567CULL);
  EXPECT_EQ(SubKey(RandomKey(0), 0).value(), 0xE220A8397B1DCDAFULL);
  EXPECT_EQ(SubKey(RandomKey(0), 1).value(), 0x910A2DEC89025CC1ULL);
  EXPECT_EQ(SubKey(RandomKey(7), 0).value(), 0x863B891F4C0ABD4FULL);
}

TEST(KeyTest, NearbyArgumentsNeverShareAKey) {
  std::set<uint64_t> keys;
  size_t derived = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    for (uint64_t epoch = 0; epoch < 20; ++epoch) {
      for (uint64_t stratum = 0; stratum < 20; ++stratum) {
        for (uint64_t purpose = 1; purpose <= 8; ++purpose) {
          keys.insert(Derived(seed, epoch, stratum, purpose));
          ++derived;
        }
      }
    }
  }
  EXPECT_EQ(keys.size(), derived);
}

TEST(KeyTest, EveryBitOfEveryArgumentFlipsHalfTheKey) {
  const uint64_t base = Derived(3, 4, 5, 1);
  std::vector<double> flips;
  for (int bit = 0; bit < 64; ++bit) {
    const uint64_t one = uint64_t{1} << bit;
    for (uint64_t other :
         {Derived(3 ^ one, 4, 5, 1), Derived(3, 4 ^ one, 5, 1),
          Derived(3, 4, 5 ^ one, 1), SubKey(RandomKey(base), one).value()}) {
      flips.push_back(std::abs(__builtin_popcountll(other ^ base) - 32));
    }
  }
  // A popcount of 64 fair bits deviates by 4 on average; 20 is five sigma.
  EXPECT_THAT(flips, Each(Lt(20)));
}

}  // namespace
}  // namespace shufflefs
