// SPDX-License-Identifier: Apache-2.0
#include "core/sampler/search/torch_random.h"

#include <algorithm>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/sampler/search/torch_vectors.h"

namespace shufflefs {
namespace {

TEST(TorchGeneratorTest, IsTheMersenneTwister) {
  std::mt19937 reference(4711);
  TorchGenerator generator(4711);
  for (int i = 0; i < 3000; ++i) ASSERT_EQ(generator.Random(), reference());
}

TEST(TorchGeneratorTest, DrawsWhatTorchDraws) {
  for (const TorchVector& vector : TorchVectors("random_")) {
    TorchGenerator generator(vector["seed"]);
    std::vector<int64_t> draws;
    for (uint64_t i = 0; i < vector.length; ++i) {
      draws.push_back(static_cast<int64_t>(generator.Random64() << 1 >> 1));
    }
    ExpectTorchGave(vector, draws);
  }
}

TEST(TorchGeneratorTest, OnlyTheLowHalfOfTheSeedMatters) {
  EXPECT_EQ(TorchGenerator(42), TorchGenerator((uint64_t{99} << 32) + 42));
  EXPECT_FALSE(TorchGenerator(42) == TorchGenerator(43));
}

TEST(TorchGeneratorTest, DiscardIsDrawing) {
  for (const uint64_t outputs : {0, 1, 623, 624, 625, 1248, 5000}) {
    TorchGenerator drawn(7);
    for (uint64_t i = 0; i < outputs; ++i) drawn.Random();
    TorchGenerator left_out(7);
    left_out.Discard(outputs);
    EXPECT_EQ(drawn.Random64(), left_out.Random64()) << outputs;
  }
}

TEST(TorchRandpermTest, IsWhatTorchGives) {
  for (const TorchVector& vector : TorchVectors("randperm")) {
    ExpectTorchGave(vector, TorchRandperm(static_cast<uint32_t>(vector["n"]),
                                          vector["seed"]));
  }
}

TEST(TorchRandpermTest, LeavesTheGeneratorWhereTorchDoes) {
  TorchGenerator generator(7);
  for (const TorchVector& vector : TorchVectors("next_randperm")) {
    ExpectTorchGave(
        vector, TorchRandperm(static_cast<uint32_t>(vector["n"]), generator));
  }
}

TEST(TorchRandpermTest, OfNothing) {
  EXPECT_THAT(TorchRandperm(0, 5), testing::IsEmpty());
}

}  // namespace
}  // namespace shufflefs
