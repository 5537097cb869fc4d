// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/sampler/search/torch_vectors.h"
#include "tests/testing/torch_loaders.h"

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

}  // namespace
}  // namespace shufflefs
