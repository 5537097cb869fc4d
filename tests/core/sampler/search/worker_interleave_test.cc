// SPDX-License-Identifier: Apache-2.0
#include "core/sampler/search/worker_interleave.h"

#include <algorithm>
#include <iterator>

#include "core/sampler/search/candidates.h"
#include "core/sampler/search/generator_seeds.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/torch_loaders.h"

namespace shufflefs {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

// The places that the workers of one rank read.
std::vector<std::vector<uint32_t>> PlacesOf(uint32_t world, uint32_t rank,
                                            const Dealing& dealing) {
  const DistributedSampler sampler = {
      .n = 1000, .world = world, .rank = rank, .shuffle = false};
  return dealing.Deal(sampler.Order());
}

TEST(WorkerInterleaveTest, OfOneReaderIsEveryPlace) {
  const WorkerInterleave lanes(PlacesOf(1, 0, {}));
  EXPECT_EQ(lanes.stride(), 1U);
  EXPECT_EQ(lanes.expected(), 999U);
  EXPECT_EQ(lanes.unexpected(), 0U);
  EXPECT_THAT(lanes.residues(), ElementsAre(0));
}

TEST(WorkerInterleaveTest, ExplainEveryBatchSizeAndNumberOfWorkers) {
  for (const uint32_t batch : {1, 2, 3, 16, 100}) {
    for (const uint32_t workers : {0, 1, 2, 5}) {
      const WorkerInterleave lanes(
          PlacesOf(1, 0, {.batch = batch, .workers = workers}));
      EXPECT_LE(lanes.unexpected(), 1U) << batch << " " << workers;
    }
  }
}

TEST(WorkerInterleaveTest, OfARankAreItsResidue) {
  const WorkerInterleave lanes(PlacesOf(8, 5, {.batch = 4, .workers = 3}));
  EXPECT_EQ(lanes.stride(), 8U);
  EXPECT_THAT(lanes.residues(), ElementsAre(5));
  EXPECT_TRUE(lanes.Expects(5, 13));
  EXPECT_TRUE(lanes.Expects(29, 29 + 8 * 9));
  EXPECT_FALSE(lanes.Expects(5, 6));
  EXPECT_FALSE(lanes.Expects(13, 5));
}

// Then a worker cannot be told from a rank, and need not be.
TEST(WorkerInterleaveTest, OfBatchesOfOneAreTheWorkers) {
  const WorkerInterleave lanes(PlacesOf(4, 1, {.batch = 1, .workers = 2}));
  EXPECT_EQ(lanes.stride(), 8U);
  EXPECT_THAT(lanes.residues(), ElementsAre(1, 5));
}

TEST(WorkerInterleaveTest, DoNotExplainAnotherOrder) {
  const WorkerInterleave lanes(
      {TorchRandperm(1000, 1), TorchRandperm(1000, 2)});
  EXPECT_LT(lanes.expected(), 20U);
  EXPECT_GT(lanes.unexpected(), 1900U);
}

TEST(WorkerInterleaveTest, OfNothingAreNone) {
  const WorkerInterleave lanes({{}, {7}, {9, 3}});
  EXPECT_EQ(lanes.stride(), 0U);
  EXPECT_EQ(lanes.expected(), 0U);
  EXPECT_THAT(lanes.residues(), IsEmpty());
}

TEST(WorkerInterleaveTest, MoreCandidatesAndFewerFilesNeedMoreSteps) {
  EXPECT_LT(StepsToProve(2000000, 1), StepsToProve(1000, 1));
  EXPECT_LT(StepsToProve(1000, 1), StepsToProve(1000, uint64_t{1} << 32));
  EXPECT_LE(StepsToProve(1000, uint64_t{1} << 32), 10U);
}

TEST(CandidatesTest, HoldTheUsualSeedsAndTheUsers) {
  const auto orders = UsualCandidates({.seeds = {77777777}, .epochs = 50});
  const auto distributed = [](uint64_t sum) {
    return CandidateOrder{SamplerKind::kDistributed, sum, 0};
  };
  EXPECT_THAT(orders, AllOf(Contains(distributed(0)).Times(1),
                            Contains(distributed(92)).Times(1),
                            Contains(distributed(77777777 + 50)).Times(1),
                            Not(Contains(distributed(77777777 + 51)))));
  EXPECT_EQ(orders[0], distributed(77777777));
}

// What a generator gives at once is likelier than what it gives later.
TEST(CandidatesTest, EarlyDrawsOfAllSeedsComeFirst) {
  const auto orders = UsualCandidates({.seeds = {77777777}});
  const auto at = [&](uint64_t seed, uint32_t output) {
    const uint32_t drawn = EarlyEpochSeeds(seed, output + 1)[output - 1];
    return std::find(orders.begin(), orders.end(),
                     CandidateOrder{SamplerKind::kRandom, drawn, 0}) -
           orders.begin();
  };
  EXPECT_LT(at(77777777, 1), at(0xCAFEBABE, 1));
  EXPECT_LT(at(0xCAFEBABE, 1), at(77777777, 2));
  EXPECT_LT(at(77777777, 63), std::ssize(orders));
}

TEST(CandidatesTest, EpochsOfAGeneratorFollowEachOther) {
  const CandidateOrder last = {SamplerKind::kStateful, 42, 99};
  const auto after = [](uint64_t outputs) {
    return CandidateOrder{SamplerKind::kStateful, 42, outputs};
  };
  EXPECT_THAT(NextCandidates(last, 100, 2),
              AllOf(Contains(after(99 + 99)), Contains(after(99 + 2 * 99)),
                    Contains(after(99 + 2 * 99 + 2)), Contains(after(99 + 101)),
                    Contains(after(99 + 2 * 2 * 99))));
  // Without workers its first epoch is that of any other loader.
  EXPECT_THAT(NextCandidates({SamplerKind::kRandom, 42, 0}, 100),
              AllOf(Contains(after(99)), Contains(after(101))));
}

TEST(CandidatesTest, EpochsFollowEachOther) {
  const CandidateOrder last = {SamplerKind::kDistributed, 42, 0};
  EXPECT_THAT(NextCandidates(last, 100),
              AllOf(Contains(last), Contains(CandidateOrder{
                                        SamplerKind::kDistributed, 43, 0})));
}

}  // namespace
}  // namespace shufflefs
