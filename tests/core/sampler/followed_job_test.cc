// SPDX-License-Identifier: Apache-2.0
// FollowedJob follows jobs over many epochs. The tests check what it
// recognises, what it prefetches, and what searches achieve.
#include "core/sampler/followed_job.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/sampler/search/seed_search.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/sampler/loader_simulation.h"
#include "tests/testing/torch_loaders.h"

namespace shufflefs {
namespace {

constexpr uint32_t kFiles = 1200;

class FollowedJobTest : public testing::Test {
 protected:
  FollowedJobTest() {
    for (uint32_t i = 0; i < kFiles; ++i) {
      tree_.File(absl::StrCat("c", i % 3, "/", 100000 + i, ".jpg"));
    }
    catalogue_ = std::make_shared<const Catalogue>(tree_.Scanned());
    const std::vector<EntryId> opened = {
        *catalogue_->FindPath("c0/100000.jpg"),
        *catalogue_->FindPath("c1/100001.jpg")};
    job_.emplace(FileIndex::Of(catalogue_, DirId(0), opened), nullptr,
                 [this](uint64_t thread) { return thread < first_thread_; });
  }

  // Opens so many files of the order; how many of them had been read ahead.
  uint64_t Read(const std::vector<uint32_t>& order, uint64_t most = kFiles) {
    return ReadSideBySide({order}, most);
  }
  uint64_t ReadSideBySide(const std::vector<std::vector<uint32_t>>& orders,
                          uint64_t most = kFiles) {
    read_.assign(kFiles, false);
    uint64_t ready = 0;
    for (const SimulatedOpen& open : OpensOf(orders, dealing_, most, rng_)) {
      if (read_[open.index]) ++ready;
      job_->Opened(open.index, first_thread_ + open.thread);
      while (job_->Work()) {
      }
      ReadPlan* const plan = job_->plan();
      if (plan == nullptr) continue;
      for (const uint32_t index :
           plan->Next(100 - std::min<uint64_t>(100, plan->ahead()))) {
        read_[index] = true;
      }
    }
    return ready;
  }
  std::vector<uint32_t> Distributed(uint64_t epoch) {
    return TorchRandperm(kFiles, static_cast<uint32_t>(42 + epoch));
  }
  // What a search finds, without the search.
  void Search(uint32_t seed) {
    const auto search = job_->WantsSearch();
    ASSERT_TRUE(search);
    RandpermHead head(64);
    ASSERT_TRUE(SeedSearch(search->query).Matches(seed, head));
    job_->Searched(search->epoch, seed);
  }

  static std::vector<uint32_t> SeedsOf(const LoaderEpochs::Options& options) {
    LoaderEpochs epochs(options);
    std::vector<uint32_t> seeds;
    for (int i = 0; i < 40; ++i) seeds.push_back(epochs.NextSeed());
    return seeds;
  }
  // What a search among all generators finds; one of these if there is none.
  void FindGenerator(const DrawnSeed& drawn, uint64_t generator) {
    const auto places = GeneratorStream(generator).Find(drawn.seed, 1000);
    for (const GeneratorPlace& place : places) {
      job_->FoundGenerator(drawn, place);
    }
    if (places.empty()) {
      job_->FoundGenerator(drawn, {generator, 7, TorchGenerator(generator)});
    }
  }

  testing_support::TempTree tree_;
  std::shared_ptr<const Catalogue> catalogue_;
  std::optional<FollowedJob> job_;
  Dealing dealing_ = {.batch = 16, .workers = 2};
  Rng rng_ = Rng(RandomKey(1));
  std::vector<bool> read_;
  uint64_t first_thread_ = 0;
};

TEST_F(FollowedJobTest, EpochsOfADistributedSamplerAreReadAhead) {
  for (uint64_t epoch = 0; epoch < 5; ++epoch) {
    EXPECT_GT(Read(Distributed(epoch)), kFiles - 100u) << epoch;
    const FollowedJobStatus status = job_->status();
    EXPECT_EQ(status.state, "recognised");
    EXPECT_EQ(status.order,
              absl::StrCat("DistributedSampler, seed + epoch = ", 42 + epoch));
    EXPECT_EQ(status.epochs, epoch + 1);
    EXPECT_EQ(status.recognised_epochs, epoch + 1);
    EXPECT_LT(status.after_opens, 100u);
    EXPECT_EQ(status.warning, "");
  }
}

TEST_F(FollowedJobTest, EpochsOfAStatefulLoaderAreReadAhead) {
  LoaderEpochs epochs({.seed = 42, .stateful = true});
  for (uint64_t epoch = 0; epoch < 5; ++epoch) {
    EXPECT_GT(Read(epochs.NextOrder(kFiles)), kFiles - 100u) << epoch;
    EXPECT_EQ(job_->status().order.find("StatefulDataLoader, "), 0u);
    EXPECT_EQ(job_->status().recognised_epochs, epoch + 1);
    EXPECT_EQ(job_->status().warning, "");
  }
}

// One search tells its generator, so that no other one is looked for.
TEST_F(FollowedJobTest, AStatefulLoadersGeneratorNeedsOneSearch) {
  constexpr uint64_t kBefore = 1001;
  LoaderEpochs epochs({.seed = 0x12345678,
                       .outputs_before = kBefore,
                       .stateful = true,
                       .workers = false});
  TorchGenerator of_process(0x12345678);
  of_process.Discard(kBefore);
  dealing_ = {.batch = 16};
  const std::vector<uint32_t> first = epochs.NextOrder(kFiles);
  EXPECT_EQ(Read(first, kFiles / 2), 0u);
  Search(static_cast<uint32_t>(of_process.Random64()));
  EXPECT_EQ(job_->status().order.find("RandomSampler, seed "), 0u);
  Read(first);
  for (uint64_t epoch = 1; epoch < 4; ++epoch) {
    EXPECT_GT(Read(epochs.NextOrder(kFiles)), kFiles - 100u) << epoch;
    EXPECT_EQ(job_->status().order.find("StatefulDataLoader, "), 0u);
    EXPECT_FALSE(job_->WantsEarlyGenerators());
    EXPECT_FALSE(job_->WantsGenerator());
  }
}

TEST_F(FollowedJobTest, SetEpochForgottenIsToldOf) {
  Read(Distributed(0));
  EXPECT_EQ(job_->status().warning, "");
  Read(Distributed(0));
  EXPECT_NE(job_->status().warning.find("set_epoch"), std::string::npos);
  Read(Distributed(3));
  EXPECT_EQ(job_->status().warning, "");
}

TEST_F(FollowedJobTest, ANamedOrderThatIsNotShuffledMayComeAgain) {
  Read(SequentialOrder(kFiles));
  EXPECT_EQ(job_->status().order, "sorted names");
  Read(SequentialOrder(kFiles));
  EXPECT_EQ(job_->status().warning, "");
}

TEST_F(FollowedJobTest, AnUnknownOrderIsKnownWhenItComesAgain) {
  std::vector<uint32_t> order = TorchRandperm(kFiles, 0x12345678);
  std::swap(order[0], order[7]);
  EXPECT_EQ(Read(order), 0u);
  EXPECT_EQ(job_->status().state, "watching");
  EXPECT_GT(Read(order), kFiles - 200u);
  EXPECT_EQ(job_->status().order, "the same order as in the last epoch");
}

TEST_F(FollowedJobTest, AnEpochThatIsBrokenOffIsFollowedByAnother) {
  Read(Distributed(0), kFiles / 3);
  EXPECT_GT(Read(Distributed(1)), kFiles - 200u);
  EXPECT_EQ(job_->status().order, "DistributedSampler, seed + epoch = 43");
}

TEST_F(FollowedJobTest, NoMoreIsReadThanTheLastEpochHad) {
  Read(Distributed(0), kFiles / 3);
  Read(Distributed(1), kFiles / 3);
  EXPECT_LE(job_->FilesToCome(), 60u);
  // Until that is more.
  Read(Distributed(2), kFiles / 2);
  EXPECT_NEAR(static_cast<double>(job_->FilesToCome()), kFiles / 2, 60);
}

TEST_F(FollowedJobTest, AJobThatGoesOnInTheMiddleIsFollowed) {
  std::vector<uint32_t> order = Distributed(7);
  order.erase(order.begin(), order.begin() + 128);
  EXPECT_GT(Read(order), order.size() - 150u);
  const std::vector<bool> read = read_;
  for (const uint32_t index : order) read_[index] = false;
  EXPECT_EQ(std::count(read_.begin(), read_.end(), true), 0)
      << "what was skipped is read";
}

TEST_F(FollowedJobTest, AfterTheRestOfAnEpochTheNextIsKnownByItsWorkers) {
  std::vector<uint32_t> rest = Distributed(7);
  rest.erase(rest.begin(), rest.begin() + 900);
  EXPECT_EQ(Read(rest), 0u) << "nobody knows where in an order that is";
  first_thread_ = 100;
  EXPECT_GT(Read(Distributed(8)), kFiles - 150u);
}

// As on each of many hosts: what is opened in the next epoch is new as a rule.
TEST_F(FollowedJobTest, EveryEpochOfOneRankOfManyIsKnown) {
  DistributedSampler sampler = {.n = kFiles, .world = 8, .rank = 5, .seed = 42};
  for (; sampler.epoch < 12; ++sampler.epoch) {
    EXPECT_GT(Read(sampler.Order()), 0u) << sampler.epoch;
    EXPECT_EQ(job_->status().order,
              absl::StrCat("DistributedSampler, seed + epoch = ",
                           42 + sampler.epoch, ", rank 5 of 8"));
    first_thread_ += 10;
  }
}

TEST_F(FollowedJobTest, ARankThatBeginsLaterIsReadAheadOf) {
  DistributedSampler sampler = {.n = kFiles, .world = 2, .rank = 0, .seed = 42};
  std::vector<uint32_t> one = sampler.Order();
  Read({one.begin(), one.begin() + 64});
  EXPECT_EQ(job_->status().state, "recognised");
  one.erase(one.begin(), one.begin() + 64);
  sampler.rank = 1;
  EXPECT_GT(ReadSideBySide({one, sampler.Order()}), kFiles * 2 / 3);
}

TEST_F(FollowedJobTest, WhatASearchFindsInTimeIsReadAhead) {
  const std::vector<uint32_t> order = TorchRandperm(kFiles, 0x89abcdef);
  Read(order, 600);
  Search(0x89abcdef);
  EXPECT_EQ(job_->status().order, "RandomSampler, seed 2309737967");
  EXPECT_FALSE(job_->WantsSearch()) << "it is known";
}

// Of a generator that nobody knows; the search for it began late and ends late.
TEST_F(FollowedJobTest, OneSeedAndItsGeneratorTellAllThatFollow) {
  constexpr uint64_t kGenerator = 0x9abcdef0;
  const std::vector<uint32_t> seeds = SeedsOf({.seed = kGenerator});
  Read(TorchRandperm(kFiles, seeds[0]));
  const auto search = job_->WantsSearch();
  ASSERT_TRUE(search);
  Read(TorchRandperm(kFiles, seeds[1]));
  job_->Searched(search->epoch, seeds[0]);
  const DrawnSeed drawn = {0, seeds[0]};
  ASSERT_EQ(job_->WantsEarlyGenerators(), drawn);
  EXPECT_FALSE(job_->WantsEarlyGenerators());
  const auto query = job_->WantsGenerator();
  ASSERT_TRUE(query);
  EXPECT_EQ(query->drawn, drawn);
  EXPECT_TRUE(query->of_all);
  EXPECT_FALSE(job_->WantsGenerator());
  Read(TorchRandperm(kFiles, seeds[2]), kFiles / 2);
  FindGenerator(drawn, 4711);  // by chance
  EXPECT_NE(job_->status().state, "recognised");
  FindGenerator(drawn, kGenerator);
  EXPECT_EQ(job_->status().state, "recognised") << "the epoch that runs";
  EXPECT_FALSE(job_->AwaitsGenerator(drawn)) << "an epoch bears it out";
  for (int epoch = 3; epoch < 40; ++epoch) {
    EXPECT_GT(Read(TorchRandperm(kFiles, seeds[epoch])), kFiles - 100u);
    EXPECT_FALSE(job_->WantsSearch());
  }
}

// One epoch of which was found by a search.
TEST_F(FollowedJobTest, ADistributedSamplerOfAnySeedIsFollowed) {
  constexpr uint32_t kSeed = 3000000000;
  Read(TorchRandperm(kFiles, kSeed), 600);
  Search(kSeed);
  EXPECT_EQ(job_->status().order, "RandomSampler, seed 3000000000");
  for (uint32_t epoch = 1; epoch < 5; ++epoch) {
    EXPECT_GT(Read(TorchRandperm(kFiles, kSeed + epoch)), kFiles - 150u);
    EXPECT_EQ(job_->status().order,
              absl::StrCat("DistributedSampler, seed + epoch = ",
                           uint64_t{kSeed} + epoch));
    EXPECT_FALSE(job_->WantsGenerator());
  }
}

TEST_F(FollowedJobTest, AGeneratorThatIsFoundLateIsFollowedAtOnce) {
  constexpr uint64_t kGenerator = 0x9abcdef0;
  const std::vector<uint32_t> seeds = SeedsOf({.seed = kGenerator});
  Read(TorchRandperm(kFiles, seeds[0]));
  const auto search = job_->WantsSearch();
  ASSERT_TRUE(search);
  for (int epoch = 1; epoch < 12; ++epoch) {
    Read(TorchRandperm(kFiles, seeds[epoch]));
    if (epoch == 1) job_->Searched(search->epoch, seeds[0]);
  }
  FindGenerator({0, seeds[0]}, kGenerator);
  for (int epoch = 12; epoch < 20; ++epoch) {
    EXPECT_GT(Read(TorchRandperm(kFiles, seeds[epoch])), kFiles - 100u);
  }
}

TEST_F(FollowedJobTest, EpochsOfAUsualGeneratorAreKnownForEver) {
  const std::vector<uint32_t> seeds = SeedsOf({.seed = 42});
  for (int epoch = 0; epoch < 40; ++epoch) {
    EXPECT_GT(Read(TorchRandperm(kFiles, seeds[epoch])), kFiles - 100u);
    const auto drawn = job_->WantsEarlyGenerators();
    EXPECT_EQ(drawn.has_value(), epoch == 0);
    if (drawn) FindGenerator(*drawn, 42);
    EXPECT_FALSE(job_->WantsGenerator()) << "that is right as a rule";
  }
}

TEST_F(FollowedJobTest, AGeneratorThatIsSeededAnewIsLookedForAgain) {
  const std::vector<uint32_t> seeds = SeedsOf({.seed = 42});
  const std::vector<uint32_t> others = SeedsOf({.seed = 1234});
  for (int epoch = 0; epoch < 3; ++epoch) {
    Read(TorchRandperm(kFiles, seeds[epoch]));
    if (const auto drawn = job_->WantsEarlyGenerators()) {
      FindGenerator(*drawn, 42);
    }
  }
  EXPECT_GT(Read(TorchRandperm(kFiles, others[0])), kFiles - 100u);
  const DrawnSeed drawn = {3, others[0]};
  EXPECT_EQ(job_->WantsEarlyGenerators(), drawn);
  FindGenerator(drawn, 1234);
  for (int epoch = 1; epoch < 20; ++epoch) {
    EXPECT_GT(Read(TorchRandperm(kFiles, others[epoch])), kFiles - 100u);
  }
}

TEST_F(FollowedJobTest, SearchesThatFindNothingBecomeSeldom) {
  uint64_t searches = 0;
  for (uint32_t epoch = 0; epoch < 20; ++epoch) {
    Read(TorchRandperm(kFiles, 0x10000000 + epoch));
    const auto search = job_->WantsSearch();
    if (!search) continue;
    ++searches;
    job_->Searched(search->epoch, std::nullopt);
  }
  EXPECT_GE(searches, 3u);
  EXPECT_LE(searches, 10u);
}

TEST_F(FollowedJobTest, DrawsWithReplacementAreNotSearchedFor) {
  std::optional<FollowedJob::Search> search;
  for (uint32_t i = 0; i < kFiles / 3; ++i) {
    Read({static_cast<uint32_t>(rng_.Bounded(kFiles))});
    if (!search) search = job_->WantsSearch();
    if (i == 100) {
      ASSERT_TRUE(search) << "all may yet be well";
      EXPECT_TRUE(job_->AwaitsSearch(search->epoch));
    }
  }
  EXPECT_FALSE(job_->AwaitsSearch(search->epoch));
  EXPECT_FALSE(job_->WantsSearch());
}

TEST_F(FollowedJobTest, DrawsWithReplacementAreUnknown) {
  for (int epoch = 0; epoch < 10; ++epoch) {
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < kFiles; ++i) {
      order.push_back(static_cast<uint32_t>(rng_.Bounded(kFiles)));
    }
    EXPECT_EQ(Read(order), 0u);
  }
  EXPECT_EQ(job_->status().recognised_epochs, 0u);
}

}  // namespace
}  // namespace shufflefs
