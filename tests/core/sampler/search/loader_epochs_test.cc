// SPDX-License-Identifier: Apache-2.0

#include "core/sampler/search/generator_seeds.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/sampler/search/torch_vectors.h"
#include "tests/testing/torch_loaders.h"

namespace shufflefs {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;

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

TEST(LoaderEpochsTest, AreThoseOfRealStatefulLoaders) {
  for (const TorchVector& vector : TorchVectors("stateful")) {
    LoaderEpochs::Options options = OptionsOf(vector);
    options.stateful = true;
    options.workers = vector["workers"] > 0;
    LoaderEpochs epochs(options);
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

}  // namespace
}  // namespace shufflefs
