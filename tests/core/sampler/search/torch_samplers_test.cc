// SPDX-License-Identifier: Apache-2.0
#include <sstream>
#include <string>

#include "core/sampler/search/samplers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/sampler/search/torch_vectors.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;

uint32_t Small(const TorchVector& vector, const std::string& key) {
  return static_cast<uint32_t>(vector[key]);
}

DistributedSampler SamplerOf(const TorchVector& vector) {
  return {.n = Small(vector, "n"),
          .world = Small(vector, "world"),
          .rank = Small(vector, "rank"),
          .seed = vector["seed"],
          .epoch = vector["epoch"],
          .shuffle = vector["shuffle"] == 1,
          .drop_last = vector["drop_last"] == 1};
}

// Lengths, made of fractions if the vector tells those.
std::vector<uint32_t> LengthsOf(const TorchVector& vector) {
  std::istringstream words(vector.arguments.at("lengths"));
  std::vector<double> numbers;
  for (std::string word; std::getline(words, word, ',');) {
    numbers.push_back(std::stod(word));
  }
  if (numbers[0] < 1) return SplitLengths(Small(vector, "n"), numbers);
  return {numbers.begin(), numbers.end()};
}

TEST(SamplersTest, SequentialIsByIndex) {
  EXPECT_THAT(SequentialOrder(4), ElementsAre(0, 1, 2, 3));
}

TEST(SamplersTest, RandomSamplerIsTorchs) {
  for (const TorchVector& vector : TorchVectors("random_sampler")) {
    TorchGenerator generator(vector["seed"]);
    ExpectTorchGave(
        vector, RandomSamplerOrder(Small(vector, "n"), Small(vector, "samples"),
                                   generator));
  }
}

TEST(SamplersTest, DistributedSamplerIsTorchs) {
  for (const TorchVector& vector : TorchVectors("distributed")) {
    ExpectTorchGave(vector, SamplerOf(vector).Order());
  }
}

TEST(SamplersTest, RandomSplitIsTorchs) {
  for (const TorchVector& vector : TorchVectors("random_split")) {
    TorchGenerator generator(vector["seed"]);
    const auto parts = RandomSplit(LengthsOf(vector), generator);
    ExpectTorchGave(vector, parts.at(vector["part"]));
  }
}

TEST(SamplersTest, FractionsLeaveNothingOver) {
  EXPECT_THAT(SplitLengths(10, {0.25, 0.25, 0.5}), ElementsAre(3, 2, 5));
  EXPECT_THAT(SplitLengths(3, {0.5, 0.5}), ElementsAre(2, 1));
}

TEST(SamplersTest, WorkersAreDealtWhatTorchDeals) {
  for (const TorchVector& vector : TorchVectors("dealt")) {
    const Dealing dealing = {.batch = Small(vector, "batch"),
                             .workers = Small(vector, "workers"),
                             .drop_last = vector["drop_last"] == 1};
    const std::vector<uint32_t> order = SequentialOrder(Small(vector, "n"));
    const auto dealt = dealing.Deal(order);
    const uint32_t worker = Small(vector, "worker");
    ExpectTorchGave(vector, dealt.at(worker));
    for (size_t i = 0; i < dealt[worker].size(); ++i) {
      EXPECT_EQ(order[dealing.Place(worker, i)], dealt[worker][i]);
    }
  }
}

TEST(SamplersTest, WithoutWorkersOneReadsAll) {
  const Dealing dealing = {.batch = 16};
  EXPECT_THAT(dealing.Deal({5, 4, 3}), ElementsAre(ElementsAre(5, 4, 3)));
  EXPECT_EQ(dealing.Place(0, 40), 40U);
}

TEST(SamplersTest, ASubsetIsReadByItsIndices) {
  EXPECT_THAT(SubsetOrder({30, 10, 20}, {2, 0, 1}), ElementsAre(20, 30, 10));
}

}  // namespace
}  // namespace shufflefs
