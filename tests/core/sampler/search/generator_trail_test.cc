// SPDX-License-Identifier: Apache-2.0
#include "core/sampler/search/generator_trail.h"

#include <algorithm>
#include <optional>

#include "core/random/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/torch_loaders.h"

namespace shufflefs {
namespace {

using ::testing::Contains;
using ::testing::Eq;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Optional;

constexpr uint64_t kSeed = 0x12345678;

class GeneratorTrailTest : public testing::Test {
 protected:
  // The seed of the next epoch; before it so many outputs are drawn.
  uint32_t Draw(uint64_t before = 3) {
    generator_.Discard(before);
    return generator_.Random();
  }
  void FindPlaces(uint32_t seed, uint64_t generator = kSeed) {
    for (const auto& place : GeneratorStream(generator).Find(seed, 100000)) {
      trail_.Add(place);
    }
  }
  // Chance's places: of other generators.
  void FindOthers(uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      TorchGenerator other(i);
      trail_.Add({i, 0, other});
    }
  }

  TorchGenerator generator_ = TorchGenerator(kSeed);
  GeneratorTrail trail_;
};

TEST_F(GeneratorTrailTest, TheNextEpochTellsThePlace) {
  EXPECT_EQ(trail_.Wanted(), std::nullopt);
  const DrawnSeed first = {0, Draw()};
  trail_.Learn(first);
  EXPECT_THAT(trail_.Wanted(), Optional(Eq(first)));
  EXPECT_THAT(trail_.Seeds(1), IsEmpty());
  FindOthers(20);
  FindPlaces(first.seed);
  FindOthers(20);
  EXPECT_FALSE(trail_.is_known());
  const DrawnSeed second = {1, Draw()};
  EXPECT_THAT(trail_.Seeds(1), Contains(second.seed));
  trail_.Learn(second);
  EXPECT_TRUE(trail_.is_known());
  EXPECT_EQ(trail_.Wanted(), std::nullopt);
  // From now on the first guess is right.
  for (uint64_t epoch = 2; epoch < 100; ++epoch) {
    const DrawnSeed drawn = {epoch, Draw()};
    const std::vector<uint32_t> seeds = trail_.Seeds(epoch);
    ASSERT_EQ(seeds[0], drawn.seed);
    if (epoch % 3 == 0) trail_.Learn(drawn);
  }
}

TEST_F(GeneratorTrailTest, WhatIsFoundLateIsHeldAgainstWhatWasLearnt) {
  const uint32_t first = Draw();
  trail_.Learn({3, first});
  trail_.Learn({4, Draw()});
  trail_.Learn({7, (Draw(), Draw(), Draw())});
  EXPECT_THAT(trail_.Wanted(), Optional(Eq(DrawnSeed{3, first})));
  FindOthers(20);
  EXPECT_FALSE(trail_.has_places());
  FindPlaces(first);
  EXPECT_TRUE(trail_.is_known());
  EXPECT_EQ(trail_.Seeds(8)[0], Draw());
}

TEST_F(GeneratorTrailTest, WhereChanceWasWrongTheSearchGoesOn) {
  const DrawnSeed first = {0, Draw()};
  trail_.Learn(first);
  FindOthers(5);
  trail_.Learn({1, Draw()});
  EXPECT_FALSE(trail_.has_places());
  EXPECT_THAT(trail_.Wanted(), Optional(Eq(first)));
  FindPlaces(first.seed);
  EXPECT_TRUE(trail_.is_known());
}

TEST_F(GeneratorTrailTest, AKnownPlaceThatIsLeftIsLookedForAnew) {
  const uint32_t first = Draw();
  trail_.Learn({0, first});
  FindPlaces(first);
  trail_.Learn({1, Draw()});
  ASSERT_TRUE(trail_.is_known());
  const DrawnSeed far = {2, Draw(1 << 20)};
  trail_.Learn(far);
  EXPECT_FALSE(trail_.is_known());
  EXPECT_THAT(trail_.Wanted(), Optional(Eq(far)));
}

TEST_F(GeneratorTrailTest, WhatTellsNothingNewChangesNothing) {
  const DrawnSeed first = {5, Draw()};
  trail_.Learn(first);
  trail_.Learn({6, first.seed});  // an epoch that was looked at again
  trail_.Learn({4, 77});
  FindPlaces(first.seed);
  EXPECT_TRUE(trail_.has_places());
  EXPECT_FALSE(trail_.is_known());
  EXPECT_THAT(trail_.Seeds(5), IsEmpty());
}

// Epochs that drew nothing (broken off and told as two), validation in some.
TEST_F(GeneratorTrailTest, LittleIrregularitiesAreFollowed) {
  Rng rng(RandomKey(7));
  const uint32_t first = Draw();
  trail_.Learn({0, first});
  FindPlaces(first);
  uint64_t epoch = 0;
  for (int i = 0; i < 200; ++i) {
    epoch += 1 + rng.Bounded(2);
    const uint32_t seed = Draw(3 + 2 * rng.Bounded(5));
    ASSERT_THAT(trail_.Seeds(epoch), Contains(seed)) << i;
    trail_.Learn({epoch, seed});
  }
  EXPECT_THAT(trail_.Seeds(epoch + 1), Not(Contains(first)));
}

TEST_F(GeneratorTrailTest, AGeneratorFarOnIsFollowedAsWell) {
  generator_.Discard(90000);
  const uint32_t first = Draw();
  trail_.Learn({0, first});
  FindPlaces(first);
  trail_.Learn({1, Draw(5001)});
  EXPECT_TRUE(trail_.is_known());
  EXPECT_EQ(trail_.Seeds(2)[0], Draw(5001));
  EXPECT_EQ(trail_.SeedsOfLastPlace(2), trail_.Seeds(2));
}

}  // namespace
}  // namespace shufflefs
