// SPDX-License-Identifier: Apache-2.0
#include "core/sampler/search/recogniser.h"

#include "core/random/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/sampler/loader_simulation.h"
#include "tests/testing/torch_loaders.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;
using State = Recogniser::State;

constexpr uint32_t kFiles = 5000;
constexpr Dealing kTwoWorkers = {.batch = 16, .workers = 2};

class RecogniserTest : public testing::Test {
 protected:
  // Feeds the head of an epoch, or all of it.
  void Feed(const std::vector<std::vector<uint32_t>>& ranks,
            const Dealing& dealing, uint64_t most = ~uint64_t{0}) {
    Feed(recogniser_, ranks, dealing, most);
  }
  void Feed(Recogniser& recogniser,
            const std::vector<std::vector<uint32_t>>& ranks,
            const Dealing& dealing, uint64_t most) {
    for (const SimulatedOpen& open : OpensOf(ranks, dealing, most, rng_)) {
      recogniser.Opened(open.index, open.thread);
      while (recogniser.Work()) {
      }
    }
  }
  void Epoch(const std::vector<uint32_t>& order, const Dealing& dealing) {
    recogniser_.BeginEpoch();
    Feed({order}, dealing);
  }
  // An order that no generator of torch gives.
  std::vector<uint32_t> Unheard(uint64_t key) {
    std::vector<uint32_t> order = SequentialOrder(kFiles);
    Rng rng((RandomKey(key)));
    for (uint32_t i = kFiles; i > 1; --i) {
      std::swap(order[i - 1], order[rng.Bounded(i)]);
    }
    return order;
  }
  void FollowOwnGenerator(bool persistent);
  void FollowStateful(LoaderEpochs::Options options);
  SamplerKind Kind() const { return recogniser_.claim()->order.kind; }

  Rng rng_{RandomKey(1)};
  Recogniser recogniser_{{.n = kFiles}};
};

TEST_F(RecogniserTest, IsUndecidedAtFirst) {
  Feed({SequentialOrder(kFiles)}, {}, 3);
  EXPECT_EQ(recogniser_.state(), State::kUndecided);
  EXPECT_EQ(recogniser_.claim(), nullptr);
  EXPECT_EQ(recogniser_.opens(), 3U);
}

TEST_F(RecogniserTest, KnowsSortedNames) {
  Feed({SequentialOrder(kFiles)}, kTwoWorkers, 100);
  ASSERT_EQ(recogniser_.state(), State::kClaimed);
  EXPECT_EQ(Kind(), SamplerKind::kListed);
  EXPECT_EQ(recogniser_.claim()->Predicted(), SequentialOrder(kFiles));
}

TEST_F(RecogniserTest, KnowsAnOrderOfTheOwner) {
  Recogniser recogniser({.n = kFiles, .known_orders = {Unheard(3)}});
  for (uint32_t i = 0; i < 20; ++i) recogniser.Opened(Unheard(3)[i], 0);
  EXPECT_TRUE(recogniser.Work());
  ASSERT_NE(recogniser.claim(), nullptr);
  EXPECT_EQ(recogniser.claim()->order,
            (CandidateOrder{SamplerKind::kListed, 1, 0}));
}

TEST_F(RecogniserTest, KnowsOneRankOfADistributedSampler) {
  const DistributedSampler sampler = {
      .n = kFiles, .world = 7, .rank = 3, .seed = 42, .epoch = 90};
  Feed({sampler.Order()}, kTwoWorkers, 100);
  ASSERT_EQ(recogniser_.state(), State::kClaimed);
  EXPECT_EQ(recogniser_.claim()->order,
            (CandidateOrder{SamplerKind::kDistributed, 132, 0}));
  EXPECT_THAT(recogniser_.claim()->lanes.residues(), ElementsAre(3));
  EXPECT_EQ(recogniser_.claim()->Predicted(), sampler.Order());
}

TEST_F(RecogniserTest, KnowsARankOfALargeWorld) {
  constexpr uint32_t kMany = 400000;
  for (const uint32_t world : {64, 256, 1024}) {
    SCOPED_TRACE(world);
    const DistributedSampler sampler = {.n = kMany,
                                        .world = world,
                                        .rank = world - 1,
                                        .seed = 1234,
                                        .epoch = 9};
    Recogniser recogniser({.n = kMany});
    Feed(recogniser, {sampler.Order()}, kTwoWorkers, 300);
    ASSERT_EQ(recogniser.state(), State::kClaimed);
    EXPECT_EQ(recogniser.claim()->Predicted(), sampler.Order());
  }
}

TEST_F(RecogniserTest, KnowsAllRanksOfADistributedSampler) {
  DistributedSampler sampler = {.n = kFiles, .world = 2};
  std::vector<std::vector<uint32_t>> ranks = {sampler.Order()};
  sampler.rank = 1;
  ranks.push_back(sampler.Order());
  Feed(ranks, kTwoWorkers, 200);
  ASSERT_EQ(recogniser_.state(), State::kClaimed);
  EXPECT_EQ(recogniser_.claim()->Predicted(), sampler.Permutation());
}

TEST_F(RecogniserTest, FindsARandomSamplerBySearch) {
  const uint32_t seed = 3000000000;
  Feed({TorchRandperm(kFiles, seed)}, kTwoWorkers, 60);
  ASSERT_EQ(recogniser_.state(), State::kUndecided);
  const auto query = recogniser_.Query();
  ASSERT_TRUE(query.has_value());
  const std::atomic<bool> stop = false;
  const auto seeds = SeedSearch(*query).Slice(seed - 1000, seed + 1000, stop);
  ASSERT_THAT(seeds, ElementsAre(seed));
  EXPECT_FALSE(recogniser_.Propose({SamplerKind::kRandom, seed + 1, 0}));
  EXPECT_TRUE(recogniser_.Propose({SamplerKind::kRandom, seeds[0], 0}));
  EXPECT_EQ(recogniser_.claim()->Predicted(), TorchRandperm(kFiles, seed));
  EXPECT_FALSE(recogniser_.Query().has_value());
}

TEST_F(RecogniserTest, SearchesForNoSeedOfWhatIsNoShuffle) {
  Rng rng(RandomKey(5));
  std::vector<uint32_t> walk = {kFiles / 2};
  for (uint32_t i = 1; i < 300; ++i) {
    const uint64_t step = kFiles - 50 + rng.Bounded(101);
    walk.push_back(static_cast<uint32_t>((walk.back() + step) % kFiles));
  }
  Feed({walk}, kTwoWorkers, 300);
  EXPECT_EQ(recogniser_.state(), State::kUndecided);
  EXPECT_FALSE(recogniser_.may_be_shuffled());
  EXPECT_FALSE(recogniser_.Query().has_value());
  recogniser_.BeginEpoch();
  EXPECT_TRUE(recogniser_.may_be_shuffled());
  Feed({TorchRandperm(kFiles, 3000000000)}, kTwoWorkers, 300);
  EXPECT_TRUE(recogniser_.may_be_shuffled());
  EXPECT_TRUE(recogniser_.Query().has_value());
}

TEST_F(RecogniserTest, SearchesPastAForeignReader) {
  recogniser_.Opened(17, 99);
  Feed({TorchRandperm(kFiles, 3000000000)}, kTwoWorkers, 60);
  EXPECT_FALSE(recogniser_.Query().has_value());
  recogniser_.BeginEpoch();
  recogniser_.Opened(17, 99);
  Feed({TorchRandperm(kFiles, 3000000000)}, kTwoWorkers, 300);
  ASSERT_TRUE(recogniser_.Query().has_value());
  EXPECT_THAT(recogniser_.Query()->streams, SizeIs(2));
}

TEST_F(RecogniserTest, ClaimsNothingOfAThreadForEachFile) {
  uint64_t thread = 0;
  for (const uint32_t index : TorchRandperm(kFiles, 0)) {
    recogniser_.Opened(index, ++thread);
    EXPECT_FALSE(recogniser_.Work());
  }
  EXPECT_EQ(recogniser_.opens(), kFiles);
}

TEST_F(RecogniserTest, KnowsALoaderThatNothingDrewBefore) {
  LoaderEpochs epochs({.seed = 1234});
  epochs.NextOrder(kFiles);
  const std::vector<uint32_t> second = epochs.NextOrder(kFiles);
  Feed({second}, {.batch = 1, .workers = 4}, 100);
  ASSERT_EQ(recogniser_.state(), State::kClaimed);
  EXPECT_EQ(Kind(), SamplerKind::kRandom);
  EXPECT_EQ(recogniser_.claim()->permutation, second);
}

void RecogniserTest::FollowOwnGenerator(bool persistent) {
  LoaderEpochs epochs(
      {.seed = 42, .persistent_workers = persistent, .own_generator = true});
  for (int i = 0; i < 3; ++i) {
    Epoch(epochs.NextOrder(kFiles), kTwoWorkers);
    ASSERT_EQ(recogniser_.state(), State::kClaimed) << i;
    EXPECT_EQ(Kind(), SamplerKind::kOwnGenerator);
    EXPECT_LT(recogniser_.claim()->opens, 40U);
  }
}

TEST_F(RecogniserTest, FollowsALoadersOwnGenerator) {
  FollowOwnGenerator(false);
}

TEST_F(RecogniserTest, FollowsTheGeneratorOfPersistentWorkers) {
  FollowOwnGenerator(true);
}

// The first epoch of one without workers looks like any other loader's.
void RecogniserTest::FollowStateful(LoaderEpochs::Options options) {
  options.stateful = true;
  LoaderEpochs epochs(options);
  for (int i = 0; i < 5; ++i) {
    SCOPED_TRACE(i);
    const std::vector<uint32_t> order = epochs.NextOrder(kFiles);
    if (i == 2) {  // not seen, but it has begun
      recogniser_.BeginEpoch();
      continue;
    }
    Epoch(order, kTwoWorkers);
    ASSERT_EQ(recogniser_.state(), State::kClaimed);
    if (options.workers || i > 0) EXPECT_EQ(Kind(), SamplerKind::kStateful);
    EXPECT_EQ(recogniser_.claim()->Predicted(), order);
    EXPECT_LT(recogniser_.claim()->opens, 40U);
    EXPECT_FALSE(recogniser_.claim()->again);
  }
}

TEST_F(RecogniserTest, FollowsAStatefulLoader) {
  FollowStateful({.seed = 1234});
}

TEST_F(RecogniserTest, FollowsAStatefulLoaderWithPersistentWorkers) {
  FollowStateful({.seed = 42, .outputs_before = 6, .persistent_workers = true});
}

TEST_F(RecogniserTest, FollowsAStatefulLoaderWithoutWorkers) {
  FollowStateful({.seed = 0, .workers = false});
}

TEST_F(RecogniserTest, FollowsTheGeneratorThatAStatefulLoaderWasGiven) {
  FollowStateful({.seed = 7, .own_generator = true});
}

TEST_F(RecogniserTest, FollowsItWithPersistentWorkers) {
  FollowStateful({.seed = 7, .persistent_workers = true, .own_generator = true});
}

TEST_F(RecogniserTest, FollowsItWithoutWorkers) {
  FollowStateful({.seed = 7, .own_generator = true, .workers = false});
}

TEST_F(RecogniserTest, AShuffleAfterSortedNamesIsNotTakenForThem) {
  Epoch(SequentialOrder(kFiles), kTwoWorkers);
  EXPECT_EQ(Kind(), SamplerKind::kListed);
  Epoch(TorchRandperm(kFiles, uint64_t{0}), kTwoWorkers);
  EXPECT_EQ(Kind(), SamplerKind::kDistributed);
}

TEST_F(RecogniserTest, TellsThatSetEpochWasForgotten) {
  const DistributedSampler sampler = {.n = kFiles};
  Epoch(sampler.Order(), kTwoWorkers);
  EXPECT_FALSE(recogniser_.claim()->again);
  Epoch(sampler.Order(), kTwoWorkers);
  EXPECT_TRUE(recogniser_.claim()->again);
  EXPECT_EQ(Kind(), SamplerKind::kDistributed);
}

TEST_F(RecogniserTest, KnowsAnyOrderAgain) {
  Epoch(Unheard(5), kTwoWorkers);
  EXPECT_EQ(recogniser_.state(), State::kUndecided);
  recogniser_.BeginEpoch();
  Feed({Unheard(5)}, kTwoWorkers, 100);
  ASSERT_EQ(recogniser_.state(), State::kClaimed);
  EXPECT_EQ(Kind(), SamplerKind::kRepeated);
  EXPECT_TRUE(recogniser_.claim()->again);
  EXPECT_THAT(recogniser_.claim()->Predicted(), SizeIs(kFiles));
  Epoch(Unheard(6), kTwoWorkers);
  EXPECT_EQ(recogniser_.state(), State::kUndecided);
}

TEST_F(RecogniserTest, DropsAClaimThatIsContradicted) {
  std::vector<uint32_t> order = TorchRandperm(kFiles, 0);
  const std::vector<uint32_t> other = Unheard(7);
  std::copy(other.begin() + 500, other.end(), order.begin() + 500);
  Feed({order}, {}, 500);
  ASSERT_EQ(recogniser_.state(), State::kClaimed);
  Feed({{order.begin() + 500, order.begin() + 549}}, {});
  EXPECT_EQ(recogniser_.state(), State::kUnknown);
  EXPECT_EQ(recogniser_.claim(), nullptr);
  EXPECT_FALSE(recogniser_.Work());
  recogniser_.BeginEpoch();
  Feed({TorchRandperm(kFiles, 1)}, {}, 100);
  EXPECT_EQ(recogniser_.state(), State::kClaimed);
}

TEST_F(RecogniserTest, BearsWithAForeignReader) {
  const std::vector<uint32_t> foreign = Unheard(8);
  const auto opens =
      OpensOf({TorchRandperm(kFiles, 0)}, kTwoWorkers, 3000, rng_);
  for (size_t i = 0; i < opens.size(); ++i) {
    recogniser_.Opened(opens[i].index, opens[i].thread);
    if (i % 8 == 0) recogniser_.Opened(foreign[i], 77);
    while (recogniser_.Work()) {
    }
  }
  ASSERT_EQ(recogniser_.state(), State::kClaimed);
  EXPECT_EQ(recogniser_.claim()->order.seed, 0U);
}

TEST_F(RecogniserTest, OfTwoJobsClaimsAtMostOne) {
  Feed({TorchRandperm(kFiles, 0), TorchRandperm(kFiles, 3000)}, kTwoWorkers);
  if (recogniser_.claim() != nullptr) {
    EXPECT_THAT(recogniser_.claim()->order.seed, testing::AnyOf(0U, 3000U));
  }
  EXPECT_FALSE(recogniser_.Work());
}

TEST_F(RecogniserTest, TakesTwoOpensOfAFileForOne) {
  for (const uint32_t index : TorchRandperm(kFiles, 42)) {
    recogniser_.Opened(index, 5);
    recogniser_.Opened(index, 5);
    while (recogniser_.Work()) {
    }
  }
  EXPECT_EQ(recogniser_.state(), State::kClaimed);
  EXPECT_EQ(recogniser_.opens(), kFiles);
}

TEST_F(RecogniserTest, PadsWhatTheLastRoundOfRanksLacks) {
  DistributedSampler sampler = {.n = kFiles, .world = 7, .rank = 6};
  Feed({sampler.Order()}, {}, 100);
  ASSERT_NE(recogniser_.claim(), nullptr);
  EXPECT_THAT(recogniser_.claim()->Predicted(),
              testing::ElementsAreArray(sampler.Order()));
  EXPECT_THAT(sampler.Order(), SizeIs(kFiles / 7 + 1));
}

}  // namespace
}  // namespace shufflefs
