// SPDX-License-Identifier: Apache-2.0
// Members and leads of a group, over many passes of a job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "core/random/random.h"
#include "tests/core/job_epochs/simulated_job.h"
#include "tests/testing/effort.h"

namespace shufflefs {
namespace {

using testing_support::JobShape;
using testing_support::Rounds;
using testing_support::SimulatedJob;
using testing_support::SoakRounds;

// The nodes agree before each pass and every sample comes in it. Returns how
// many boundaries gave names new samples.
uint64_t RunExactly(const JobShape& shape) {
  SCOPED_TRACE(testing::Message()
               << "seed " << shape.seed << ", nodes " << shape.nodes
               << ", names " << shape.names << ", ahead " << shape.ahead
               << ", lost " << shape.lost_of_256);
  SimulatedJob job(shape);
  job.Wait(600);
  for (uint64_t epoch = 0; epoch < shape.epochs; ++epoch) {
    EXPECT_EQ(job.Pass(epoch), 0u) << "pass " << epoch;
  }
  job.Wait(5000);
  EXPECT_TRUE(job.Agree());
  for (uint64_t i = 0; i < shape.nodes; ++i) {
    EXPECT_EQ(job.member(i).Warning().find("come twice"), std::string::npos)
        << job.member(i).Warning();
  }
  return job.view(0).bound;
}

TEST(JobEpochsTest, PassesInLockStepShowEachSampleOnceAndEndEpochs) {
  for (uint64_t seed = 1; seed <= Rounds<uint64_t>(20); ++seed) {
    for (const uint64_t nodes : {1, 2, 3, 4, 8}) {
      for (const bool fixed : {false, true}) {
        const JobShape shape{
            .nodes = nodes, .names = 997, .fixed_order = fixed, .seed = seed};
        EXPECT_GE(RunExactly(shape), shape.epochs - 1);
      }
    }
  }
}

TEST(JobEpochsTest, LostAndRepeatedMessagesCostEpochsButNoSample) {
  // A message is repeated after 200 ms. A pass over 1,000 names takes 300.
  std::map<uint64_t, uint64_t> bound;
  for (const uint64_t names : {1000, 4000}) {
    for (uint64_t seed = 1; seed <= Rounds<uint64_t>(30); ++seed) {
      bound[names] += RunExactly({.nodes = 4,
                                  .names = names,
                                  .epochs = 6,
                                  .delay = 20,
                                  .lost_of_256 = 40,
                                  .twice_of_256 = 40,
                                  .seed = seed});
      RunExactly({.nodes = 4,
                  .names = names,
                  .fixed_order = true,
                  .epochs = 6,
                  .delay = 20,
                  .lost_of_256 = 40,
                  .twice_of_256 = 40,
                  .seed = seed});
    }
  }
  std::cout << bound[1000] << " and " << bound[4000] << " bound\n";
  EXPECT_GT(bound[1000], 0u);
  EXPECT_GT(bound[4000], Rounds<uint64_t>(100));
}

TEST(JobEpochsTest, SamplersThatDropTheLastBatchLoseNothingElse) {
  for (uint64_t seed = 1; seed <= Rounds<uint64_t>(20); ++seed) {
    for (const bool fixed : {false, true}) {
      RunExactly({.nodes = 4,
                  .names = 1003,
                  .drop_last = true,
                  .fixed_order = fixed,
                  .epochs = 10,
                  .seed = seed});
    }
  }
}

// Nothing may be lost when nodes come and go between passes, whoever leads.
TEST(JobEpochsTest, NodesThatAreKilledOrCutOffBetweenPassesCostNoSample) {
  for (uint64_t seed = 1; seed <= Rounds<uint64_t>(30); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng((RandomKey(seed)));
    const JobShape shape{.nodes = 4, .names = 1000, .seed = seed};
    SimulatedJob job(shape);
    job.Wait(600);
    for (uint64_t epoch = 0; epoch < 12; ++epoch) {
      EXPECT_EQ(job.Pass(epoch), 0u) << "pass " << epoch;
      const uint64_t node = rng.Bounded(shape.nodes);
      const uint64_t what = rng.Bounded(4);
      if (what == 0) job.Restart(node);
      if (what == 1) {
        // Time for the decision about the pass that ended.
        job.Wait(3000);
        job.SetJoined(node, false);
        job.Wait(1000);
        job.SetJoined(node, true);
        job.Wait(2000);
        EXPECT_TRUE(job.Agree());
      }
    }
    job.Wait(5000);
    EXPECT_TRUE(job.Agree());
  }
}

// All links work again. Then all nodes agree, and passes 12 and 13 lose
// nothing. Returns how many samples the nodes say they may have shown twice.
uint64_t ToldWhenJoinedAgain(SimulatedJob& job, uint64_t nodes) {
  for (uint64_t i = 0; i < nodes; ++i) job.Cut(i, 0);
  job.Regroup();
  job.Wait(5000);
  EXPECT_TRUE(job.Agree());
  EXPECT_EQ(job.Pass(12), 0u);
  EXPECT_EQ(job.Pass(13), 0u);
  return job.Told();
}

// Nodes notice a cut some time after it. If a decision was under way, one part
// may go on without the other. That is seldom, and afterwards all agree again.
// The part that was left behind then says how many samples may be missing.
TEST(JobEpochsTest, APartitionAtAnyMomentCostsLittleAndEndsInOneBijection) {
  uint64_t bound = 0;
  uint64_t all_missing = 0;
  const auto jobs = Rounds(SoakRounds<uint64_t>(80, 200));
  for (uint64_t seed = 1; seed <= jobs; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng((RandomKey(seed)));
    const JobShape shape{.nodes = 4, .names = 600, .seed = seed};
    SimulatedJob job(shape);
    job.Wait(600);
    bool parted = false;
    uint64_t missing = 0;
    for (uint64_t epoch = 0; epoch < 12; ++epoch) {
      uint64_t until_cut = rng.Bounded(2) == 0 ? rng.Bounded(700) + 1 : 0;
      uint64_t until_seen = 0;
      missing += job.Pass(epoch, [&] {
        if (until_cut > 0 && --until_cut == 0) {
          parted = !parted;
          const uint64_t far = parted ? 1 + rng.Bounded(shape.nodes - 1) : 0;
          for (uint64_t i = 0; i < shape.nodes; ++i) job.Cut(i, i < far);
          until_seen = rng.Bounded(200) + 1;
        }
        if (until_seen > 0 && --until_seen == 0) job.Regroup();
      });
      job.Regroup();
    }
    const uint64_t told = ToldWhenJoinedAgain(job, shape.nodes);
    EXPECT_GE(told, missing);
    // Who lost nothing is not told of losses.
    EXPECT_TRUE(missing > 0 || told == 0) << told;
    all_missing += missing;
    bound += job.view(0).bound;
  }
  EXPECT_GT(bound, 2 * jobs);
  EXPECT_LT(all_missing, 15 * jobs) << "of " << jobs * 12 * 600;
}

// Links break and come back one by one. Some nodes notice it, others do not, so
// the opens of nodes arrive late and not in their order.
TEST(JobEpochsTest, LinksThatNobodySeesBreakCostNoSampleThatIsNotNamed) {
  uint64_t bound = 0;
  uint64_t all_missing = 0;
  const auto jobs = Rounds(SoakRounds<uint64_t>(120, 400));
  for (uint64_t seed = 1; seed <= jobs; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng((RandomKey(seed)));
    const JobShape shape{
        .nodes = 4, .names = 600, .fixed_order = seed % 2 == 0, .seed = seed};
    SimulatedJob job(shape);
    job.Wait(600);
    std::vector<uint64_t> cut_for(shape.nodes);
    uint64_t missing = 0;
    const auto each_ms = [&] {
      for (uint64_t i = 0; i < shape.nodes; ++i) {
        if (cut_for[i] == 0 && rng.Bounded(1000) == 0) {
          cut_for[i] = 1 + rng.Bounded(rng.Bounded(4) == 0 ? 3000 : 300);
          job.Cut(i, 1 + rng.Bounded(2));
        } else if (cut_for[i] > 0 && --cut_for[i] == 0) {
          job.Cut(i, 0);
        }
        if (rng.Bounded(500) == 0) job.Look(i);
      }
    };
    for (uint64_t epoch = 0; epoch < 12; ++epoch) {
      missing += job.Pass(epoch, each_ms);
    }
    const uint64_t told = ToldWhenJoinedAgain(job, shape.nodes);
    EXPECT_GE(told, missing);
    all_missing += missing;
    bound += job.view(0).bound;
  }
  std::cout << bound << " bound, " << all_missing << " missing\n";
  EXPECT_GT(bound, jobs / 2);
}

// A daemon may be back before the others notice that it was away. If it led, it
// does not know what was opened before.
TEST(JobEpochsTest, NodesThatAreKilledInMidPassCostNoSampleThatIsNotNamed) {
  uint64_t bound = 0;
  uint64_t all_missing = 0;
  const auto jobs = Rounds(SoakRounds<uint64_t>(300, 600));
  for (uint64_t seed = 1; seed <= jobs; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng((RandomKey(seed)));
    // Slow messages leave more time for a kill to come between.
    const JobShape shape{.nodes = 3,
                         .names = 600,
                         .fixed_order = seed % 4 == 0,
                         .delay = seed % 2 == 0 ? 3u : 25u,
                         .seed = seed};
    SimulatedJob job(shape);
    job.Wait(600);
    uint64_t missing = 0;
    for (uint64_t epoch = 0; epoch < 12; ++epoch) {
      // Most come soon after a pass began, when its boundary is decided.
      const uint64_t within = rng.Bounded(4) == 0 ? 400 : 100;
      uint64_t until = rng.Bounded(3) == 0 ? rng.Bounded(within) + 1 : 0;
      const uint64_t node = rng.Bounded(shape.nodes);
      missing += job.Pass(epoch, [&] {
        if (until > 0 && --until == 0) job.Restart(node);
      });
    }
    const uint64_t told = ToldWhenJoinedAgain(job, shape.nodes);
    EXPECT_GE(told, missing);
    all_missing += missing;
    bound += job.view(0).bound;
  }
  std::cout << bound << " bound, " << all_missing << " missing\n";
  EXPECT_GT(bound, 2 * jobs / 3);
}

TEST(JobEpochsTest, NamesKeepTheirSamplesWhileANodeIsAway) {
  SimulatedJob job({.nodes = 3, .names = 500});
  job.Wait(600);
  EXPECT_EQ(job.Pass(0), 0u);
  job.SetJoined(2, false);
  const uint64_t binding = job.view(0).binding();
  // The node that is cut off reads on, and so do the others.
  for (uint64_t epoch = 1; epoch < 6; ++epoch) {
    EXPECT_EQ(job.Pass(epoch), 0u) << "pass " << epoch;
  }
  for (uint64_t node = 0; node < 3; ++node) {
    EXPECT_EQ(job.view(node).binding(), binding) << "node " << node;
  }
  EXPECT_NE(job.member(0).Warning().find("keep their samples"),
            std::string::npos);
  job.SetJoined(2, true);
  job.Wait(3000);
  EXPECT_TRUE(job.Agree());
  for (uint64_t epoch = 6; epoch < 12; ++epoch) {
    EXPECT_EQ(job.Pass(epoch), 0u) << "pass " << epoch;
  }
  EXPECT_GT(job.view(1).bound, 2u);
}

// Whatever is lost on the way to a node that is back, it catches up.
TEST(JobEpochsTest, ANodeThatIsBackCatchesUpOverABadNetwork) {
  for (uint64_t seed = 1; seed <= Rounds<uint64_t>(40); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    SimulatedJob job({.nodes = 3,
                      .names = 500,
                      .delay = 20,
                      .lost_of_256 = 128,
                      .seed = seed});
    job.Wait(1000);
    job.SetJoined(2, false);
    job.Signal(0, 5);
    job.Wait(4000);
    ASSERT_EQ(job.view(0).GroupState().epoch, 5u);
    job.SetJoined(2, true);
    job.Wait(8000);
    EXPECT_EQ(job.view(2).GroupState().epoch, 5u);
    EXPECT_TRUE(job.Agree());
  }
}

TEST(JobEpochsTest, AUserMovesAllThatAnswerAndTheRestFollowsLater) {
  SimulatedJob job({.nodes = 4, .names = 500});
  job.Wait(600);
  job.Signal(2, 0);
  job.Wait(100);
  EXPECT_TRUE(job.Agree());
  EXPECT_EQ(job.view(0).GroupState().epoch, 1u);
  EXPECT_TRUE(job.member(2).wish_result().ok());
  job.SetJoined(0, false);  // who led
  job.Wait(600);
  job.Signal(3, 7);
  job.Wait(3000);
  EXPECT_EQ(job.view(1).GroupState().epoch, 7u);
  EXPECT_EQ(job.view(0).GroupState().epoch, 1u);
  job.Signal(1, 5);
  job.Wait(1000);
  EXPECT_FALSE(job.member(1).wishes());
  EXPECT_FALSE(job.member(1).wish_result().ok());
  job.SetJoined(0, true);
  job.Wait(3000);
  EXPECT_TRUE(job.Agree());
  EXPECT_EQ(job.view(0).GroupState().epoch, 7u);
}

// Otherwise another node could show samples of the epoch before.
TEST(JobEpochsTest, AUserIsAnsweredWhenAllNodesShowTheEpoch) {
  uint64_t answered = 0;
  for (uint64_t seed = 1; seed <= Rounds<uint64_t>(40); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    SimulatedJob job({.nodes = 4,
                      .names = 500,
                      .delay = 20,
                      .lost_of_256 = seed % 2 == 0 ? 16u : 0u,
                      .twice_of_256 = 40,
                      .seed = seed});
    job.Wait(1000);
    for (uint64_t epoch = 1; epoch <= 5; ++epoch) {
      const uint64_t node = (seed + epoch) % 4;
      const bool by_number = epoch % 2 == 0;
      job.Signal(node, by_number ? job.view(node).GroupState().epoch + 1 : 0);
      while (job.member(node).wishes()) job.Wait(1);
      answered += job.member(node).wish_result().ok() ? 1 : 0;
      if (job.member(node).wish_result().ok()) EXPECT_TRUE(job.Agree());
      // One that is there already.
      const uint64_t other = (node + 1) % 4;
      job.Signal(other, job.view(other).GroupState().epoch);
      while (job.member(other).wishes()) job.Wait(1);
      if (job.member(other).wish_result().ok()) EXPECT_TRUE(job.Agree());
    }
  }
  EXPECT_GT(answered, Rounds<uint64_t>(40) * 4);
}

// The lead has not heard of all members yet.
TEST(JobEpochsTest, ANodeThatHasJustJoinedIsNotLeftBehind) {
  for (uint64_t seed = 1; seed <= Rounds<uint64_t>(40); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    SimulatedJob job({.nodes = 4, .names = 500, .delay = 20, .seed = seed});
    job.Wait(seed / 4);
    job.Signal(seed % 4, 0);
    while (job.member(seed % 4).wishes()) job.Wait(1);
    ASSERT_TRUE(job.member(seed % 4).wish_result().ok());
    EXPECT_TRUE(job.Agree());
    EXPECT_EQ(job.view(0).GroupState().epoch, 1u);
  }
}

TEST(JobEpochsTest, AUserHearsThatAnEpochMayNotHaveBegunEverywhere) {
  SimulatedJob job({.nodes = 3, .names = 500});
  job.Wait(600);
  job.Signal(2, 0);
  // The lead is cut off when the member has begun, before all have.
  while (job.view(2).GroupState().epoch == 0) job.Wait(1);
  job.Cut(0, 1);
  job.Wait(10000);
  EXPECT_FALSE(job.member(2).wishes());
  EXPECT_THAT(std::string(job.member(2).wish_result().message()),
              testing::HasSubstr("epoch 1 has begun here"));
}

TEST(JobEpochsTest, ANodeThatWasLeftBehindSaysWhatItMayHaveShownTwice) {
  SimulatedJob job({.nodes = 3, .names = 500});
  job.Wait(600);
  job.SetJoined(2, false);
  job.Signal(0, 0);
  job.Wait(1000);
  job.ReadAlone(2, 17);
  job.SetJoined(2, true);
  job.Wait(3000);
  EXPECT_TRUE(job.Agree());
  EXPECT_NE(job.member(2).Warning().find("17 samples"), std::string::npos)
      << job.member(2).Warning();
}

// It opens the first names of a pass and tells them only to itself.
TEST(JobEpochsTest, WhatANodeOpenedWhileItLedItselfIsNotForgotten) {
  SimulatedJob job({.nodes = 2, .names = 500});
  job.Wait(600);
  ASSERT_EQ(job.Pass(0), 0u);
  job.Cut(1, 1);
  job.Look(1);
  std::vector<uint64_t> shown;
  for (uint64_t name = 0; name < 10; ++name) {
    shown.push_back(job.view(1).Shown(name));
  }
  job.ReadAlone(1, 10);
  job.Wait(100);
  job.Cut(1, 0);
  job.Look(1);
  job.Wait(500);
  job.ReadAlone(0, 200, 100);
  job.Wait(1000);
  EXPECT_EQ(job.view(0).GroupState().epoch, 1u);
  for (uint64_t name = 0; name < 10; ++name) {
    EXPECT_EQ(job.view(0).Shown(name), shown[name]) << name;
  }
}

// As when it was started anew, after a switch at run time.
TEST(JobEpochsTest, ANodeWithOtherKeysIsNotReboundAgainAndAgain) {
  SimulatedJob job({.nodes = 3, .names = 500});
  job.view(2).SetKeys(7);
  job.Wait(5000);
  EXPECT_EQ(job.view(2).adopted, 0u);
  EXPECT_NE(job.member(2).Warning().find("other keys"), std::string::npos)
      << job.member(2).Warning();
}

}  // namespace
}  // namespace shufflefs
