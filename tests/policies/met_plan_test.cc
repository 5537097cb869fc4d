// SPDX-License-Identifier: Apache-2.0
// met where the order is known beforehand: ranked names.
#include "policies/met/met_plan.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policies/met/met_rank_binder.h"
#include "tests/policies/binder_fixture.h"

namespace shufflefs {
namespace {

using testing_support::MakeBinderData;

MetOptions Options(uint64_t mini_epochs, uint64_t repeat, uint64_t epochs) {
  MetOptions options;
  options.mini_epochs = mini_epochs;
  options.repeat = repeat;
  options.epochs = epochs;
  return options;
}

TEST(MetPlanTest, APassTakesAsManyEpochsAsItsFactor) {
  struct Case {
    uint64_t epoch, pass, part, factor;
  };
  for (const Case& c : std::vector<Case>{{0, 0, 0, 4},
                                         {3, 0, 3, 4},
                                         {4, 1, 0, 4},
                                         {87, 21, 3, 4},
                                         {88, 22, 0, 2},
                                         {89, 22, 1, 2},
                                         {90, 23, 0, 4},
                                         {179, 45, 1, 2}}) {
    const MetEpoch of = MetEpochOf(Options(8, 4, 90), Epoch(c.epoch));
    EXPECT_EQ(of.pass, c.pass) << c.epoch;
    EXPECT_EQ(of.part, c.part) << c.epoch;
    EXPECT_EQ(of.factor, c.factor) << c.epoch;
  }
}

TEST(MetPlanTest, NothingIsRepeatedWithoutTheNumberOfEpochs) {
  for (uint64_t epoch : {0, 1, 7, 100}) {
    const MetEpoch of = MetEpochOf(Options(8, 4, 0), Epoch(epoch));
    EXPECT_EQ(of.pass, epoch);
    EXPECT_EQ(of.factor, 1u);
  }
  EXPECT_EQ(MetEpochOf(Options(8, 0, 90), Epoch(5)).factor, 1u);
}

TEST(MetPlanTest, EverySampleComesAsOftenAsTheJobHasEpochs) {
  const auto data = MakeBinderData({100, 37, 3}, 1000, 64, true);
  for (const auto& [minis, repeat, epochs] :
       std::vector<std::array<uint64_t, 3>>{
           {8, 4, 12}, {8, 4, 14}, {5, 3, 7}, {1, 4, 8}, {200, 2, 4}}) {
    const MetOptions options = Options(minis, repeat, epochs);
    std::vector<uint64_t> shown(140);
    for (uint64_t e = 0; e < epochs; ++e) {
      const MetOrder order(options, {&data->grouping, 42, Seed(3)}, Epoch(e));
      ASSERT_EQ(order.size(), 140u);
      std::vector<uint64_t> first(140, 140);
      for (uint64_t p = order.size(); p > 0; --p) {
        ++shown[order.SampleAt(p - 1)];
        first[order.SampleAt(p - 1)] = p - 1;
      }
      for (uint64_t s = 0; s < 140; ++s) {
        ASSERT_EQ(order.PositionOf(s), first[s]);
      }
    }
    EXPECT_THAT(shown, testing::Each(epochs)) << minis << " " << repeat;
  }
}

TEST(MetPlanTest, AMiniEpochIsRepeatedInAnOrderOfItsOwn) {
  const auto data = MakeBinderData({100}, 1000, 64, true);
  const MetOrder order(Options(4, 2, 8), {&data->grouping, 42, Seed(3)},
                       Epoch(0));
  std::vector<uint64_t> first, again;
  for (uint64_t p = 0; p < 25; ++p) {
    first.push_back(order.SampleAt(p));
    again.push_back(order.SampleAt(p + 25));
  }
  EXPECT_NE(first, again);
  EXPECT_EQ(std::set<uint64_t>(first.begin(), first.end()),
            std::set<uint64_t>(again.begin(), again.end()));
}

TEST(MetPlanTest, IsAFunctionOfSeedAndEpoch) {
  const auto data = MakeBinderData({50, 50}, 1000, 64, true);
  const auto order = [&](uint64_t seed, uint64_t epoch) {
    const MetOrder made(Options(4, 2, 8), {&data->grouping, 42, Seed(seed)},
                        Epoch(epoch));
    std::vector<uint64_t> samples;
    for (uint64_t p = 0; p < made.size(); ++p) {
      samples.push_back(made.SampleAt(p));
    }
    return samples;
  };
  EXPECT_EQ(order(1, 3), order(1, 3));
  EXPECT_NE(order(1, 3), order(2, 3));
  EXPECT_NE(order(1, 3), order(1, 2));
}

TEST(MetPlanTest, GoldenVectors) {
  const auto data = MakeBinderData({6, 4}, 1000, 64, true);
  std::vector<uint64_t> samples;
  for (uint64_t e = 0; e < 3; ++e) {
    const MetOrder order(Options(2, 2, 4), {&data->grouping, 42, Seed(7)},
                         Epoch(e));
    for (uint64_t p = 0; p < order.size(); ++p) {
      samples.push_back(order.SampleAt(p));
    }
  }
  EXPECT_THAT(samples, testing::ElementsAre(3, 5, 1, 7, 9, 5, 7, 1, 3, 9, 6, 4,
                                            2, 8, 0, 4, 8, 6, 0, 2, 3, 1, 5, 6,
                                            9, 5, 1, 6, 3, 9));
}

// A reader in the order of the epochs, with some disorder of its workers.
TEST(MetRankBinderTest, WantsWhatIsReadAndWhatComesNext) {
  const auto data = MakeBinderData({300, 300}, 10000, 64, true);
  const MetOptions options = Options(4, 2, 8);
  MetRankBinder binder(options, data->input);
  EXPECT_TRUE(binder.WantedSets().empty());
  Rng rng(RandomKey(5));
  for (uint64_t e = 0; e < 4; ++e) {
    binder.BeginEpoch(Seed(3), Epoch(e), {});
    const MetOrder order(options, {&data->grouping, 42, Seed(3)}, Epoch(e));
    uint64_t in_first = 0;
    for (uint64_t p = 0; p < order.size(); ++p) {
      const uint64_t window = std::min<uint64_t>(16, order.size() - p);
      const SampleId sample(order.SampleAt(p + rng.Bounded(window)));
      const std::vector<uint64_t> wanted = binder.WantedSets();
      ASSERT_EQ(wanted.size(), 2u);
      ASSERT_EQ(wanted[1], wanted[0] + 1);
      const std::vector<SampleId> first = binder.SamplesOf(wanted[0]);
      ASSERT_EQ(first.size(), 150u);
      in_first += std::count(first.begin(), first.end(), sample);
      EXPECT_EQ(binder.FetchChunkOf(sample, 1 << 20).size(), 1u);
    }
    // All but what is read around the changes.
    EXPECT_GT(in_first, order.size() * 85 / 100) << e;
  }
  // The pass that follows has sets of its own.
  const std::vector<SampleId> next = binder.SamplesOf(binder.WantedSets()[1]);
  EXPECT_EQ(next.size(), 150u);
}

// The tier knows sets by their numbers.
TEST(MetRankBinderTest, AnotherSeedHasOtherSets) {
  const auto data = MakeBinderData({300}, 10000, 64, true);
  MetRankBinder binder(Options(4, 1, 8), data->input);
  std::set<uint64_t> numbers;
  // Also if the epochs begin anew.
  uint64_t seed = 1;
  for (const std::vector<uint64_t>& epochs :
       {std::vector<uint64_t>{0, 1, 9, 3}, {4, 5}, {0}, {0, 1}}) {
    std::set<uint64_t> of_seed;
    for (const uint64_t epoch : epochs) {
      binder.BeginEpoch(Seed(seed), Epoch(epoch), {});
      for (int mini = 0; mini < 4; ++mini) {
        const std::vector<uint64_t> wanted = binder.WantedSets();
        ASSERT_THAT(wanted, testing::SizeIs(2));
        if (of_seed.empty()) EXPECT_FALSE(binder.status().ready);
        for (const uint64_t set : wanted) {
          EXPECT_THAT(binder.SamplesOf(set), testing::SizeIs(75)) << set;
          EXPECT_FALSE(numbers.contains(set)) << set << " of seed " << seed;
          of_seed.insert(set);
        }
        for (const SampleId sample : binder.SamplesOf(wanted[1])) {
          binder.Bypassed(sample);
        }
      }
      for (const uint64_t set : binder.WantedSets()) binder.SetReady(set);
    }
    numbers.merge(of_seed);
    ++seed;
  }
}

TEST(MetRankBinderTest, OneMiniEpochIsOneSetForEver) {
  const auto data = MakeBinderData({30}, 10000, 64, true);
  MetRankBinder binder(Options(1, 2, 8), data->input);
  for (uint64_t e = 0; e < 5; ++e) {
    binder.BeginEpoch(Seed(3), Epoch(e), {});
    EXPECT_THAT(binder.WantedSets(), testing::ElementsAre(0u));
    EXPECT_EQ(binder.SamplesOf(0).size(), 30u);
  }
}

}  // namespace
}  // namespace shufflefs
