// SPDX-License-Identifier: Apache-2.0
#include "core/clairvoyant/loader_epochs.h"

#include "core/clairvoyant/samplers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/torch_vectors.h"

namespace shufflefs {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::IsEmpty;
using ::testing::Optional;

LoaderEpochs::Options OptionsOf(const TorchVector& vector) {
  LoaderEpochs::Options options;
  options.seed = vector["seed"];
  options.own_generator = vector["own"] == 1;
  options.persistent_workers = vector["persistent"] == 1;
  // The model's draws are from the default generator.
  if (!options.own_generator) options.outputs_before = vector["before"];
  return options;
}

TEST(LoaderEpochsTest, AreThoseOfRealLoaders) {
  for (const TorchVector& vector : TorchVectors("epoch")) {
    LoaderEpochs epochs(OptionsOf(vector));
    const uint32_t n = static_cast<uint32_t>(vector["n"]);
    for (uint64_t i = 0; i < vector["epoch"]; ++i) epochs.NextOrder(n);
    ExpectTorchGave(vector, epochs.NextOrder(n));
  }
}

TEST(LoaderEpochsTest, EarlySeedsAreThoseOfFreshGenerators) {
  for (const bool persistent : {false, true}) {
    LoaderEpochs epochs({.seed = 42, .persistent_workers = persistent});
    const std::vector<uint32_t> early = EarlyEpochSeeds(42, 20);
    for (int i = 0; i < 5; ++i) {
      EXPECT_THAT(early, Contains(epochs.NextSeed()));
    }
  }
  EXPECT_THAT(EarlyEpochSeeds(42, 0), IsEmpty());
}

TEST(LoaderEpochsTest, KnowTheUsualSeeds) {
  for (const uint64_t seed : {0, 1, 42, 1234, 1337, 2026}) {
    EXPECT_THAT(KnownGeneratorSeeds(), Contains(seed));
  }
}

// A model took a million outputs, and a validation loader takes two an epoch.
TEST(GeneratorTraceTest, FollowsAGeneratorFromTwoEpochs) {
  TorchGenerator generator(1337);
  generator.Discard(1000003);
  std::vector<uint32_t> seeds;
  for (int epoch = 0; epoch < 6; ++epoch) {
    generator.Random64();
    seeds.push_back(static_cast<uint32_t>(generator.Random64()));
    generator.Random64();
  }
  const auto trace =
      TraceGenerator(1337, {seeds[0], seeds[1]}, {.outputs = 2000000});
  EXPECT_THAT(trace, Optional(Eq(GeneratorTrace{1337, 1000012, 6})));
  EXPECT_THAT(trace->NextSeeds(4),
              ElementsAre(seeds[2], seeds[3], seeds[4], seeds[5]));
  const auto later = TraceGenerator(1337, {seeds[1], seeds[2], seeds[3]},
                                    {.outputs = 2000000});
  EXPECT_THAT(later, Optional(Eq(GeneratorTrace{1337, 1000024, 6})));
  EXPECT_THAT(later->NextSeeds(1), ElementsAre(seeds[4]));
}

TEST(GeneratorTraceTest, ClaimsNothingOfOtherSeeds) {
  LoaderEpochs epochs({.seed = 42});
  const uint32_t first = epochs.NextSeed();
  const uint32_t second = epochs.NextSeed();
  const uint32_t third = epochs.NextSeed();
  const TraceLimits limits = {.outputs = 100000, .distance = 1000};
  EXPECT_EQ(TraceGenerator(43, {first, second}, limits), std::nullopt);
  EXPECT_EQ(TraceGenerator(42, {first}, limits), std::nullopt);
  EXPECT_EQ(TraceGenerator(42, {second, first}, limits), std::nullopt);
  EXPECT_EQ(TraceGenerator(42, {first, second, third + 1}, limits),
            std::nullopt);
  EXPECT_NE(TraceGenerator(42, {first, third}, limits), std::nullopt);
}

}  // namespace
}  // namespace shufflefs
