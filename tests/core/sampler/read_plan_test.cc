// SPDX-License-Identifier: Apache-2.0
#include "core/sampler/read_plan.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/sampler/loader_simulation.h"
#include "tests/testing/torch_loaders.h"

namespace shufflefs {
namespace {

using Indices = std::vector<uint32_t>;

ReadPlan PlanOf(uint32_t n) {
  return ReadPlan(SequentialOrder(n), std::vector<bool>(n));
}

TEST(ReadPlanTest, NothingIsWantedBeforeSomebodyReads) {
  ReadPlan plan = PlanOf(100);
  EXPECT_TRUE(plan.Next(10).empty());
}

TEST(ReadPlanTest, WhatFollowsEachThreadIsWantedByTurns) {
  ReadPlan plan = PlanOf(100);
  plan.Came(1, 10);
  plan.Came(2, 50);
  EXPECT_EQ(plan.Next(5), (Indices{11, 51, 12, 52, 13}));
  EXPECT_EQ(plan.ahead(), 5u);
  EXPECT_EQ(plan.Next(2), (Indices{14, 53}));
}

TEST(ReadPlanTest, WhatWasOpenedIsNotWanted) {
  std::vector<bool> opened(10);
  opened[4] = true;
  ReadPlan plan(SequentialOrder(10), opened);
  plan.Came(1, 2);
  plan.Opened(5);
  EXPECT_EQ(plan.Next(100), (Indices{3, 6, 7, 8, 9}));
  EXPECT_TRUE(plan.Awaits(3));
  plan.Came(1, 3);
  EXPECT_FALSE(plan.Awaits(3));
  EXPECT_EQ(plan.ahead(), 4u);
}

TEST(ReadPlanTest, WhatAllThreadsHavePassedByIsAwaitedNoMore) {
  ReadPlan plan = PlanOf(100);
  plan.Came(1, 0);
  plan.Next(20);
  plan.Came(1, 11);  // the kernel had what lies between
  EXPECT_EQ(plan.Next(1), (Indices{21}));
  EXPECT_FALSE(plan.Awaits(5));
  EXPECT_TRUE(plan.Awaits(12));
  EXPECT_EQ(plan.ahead(), 10u);
}

TEST(ReadPlanTest, PaddingIsReadOnce) {
  ReadPlan plan({3, 1, 0, 2, 3}, std::vector<bool>(4));
  plan.Came(1, 3);
  EXPECT_EQ(plan.Next(100), (Indices{1, 0, 2}));
}

TEST(ReadPlanTest, OfARankNothingElseIsWanted) {
  ReadPlan plan({0, 2, 4, 6, 8}, std::vector<bool>(10));
  plan.Came(1, 0);
  plan.Came(7, 3);  // in no place of it
  EXPECT_EQ(plan.Next(100), (Indices{2, 4, 6, 8}));
}

// Whatever the workers' speeds, nothing is read twice or after it was opened,
// nothing that will be opened is given up, and of a window that is wide enough
// next to nothing is missed.
TEST(ReadPlanTest, WorkersFindNearlyEverythingRead) {
  uint64_t all = 0;
  uint64_t all_missed = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng = Rng(RandomKey(seed));
    const uint32_t n = 500 + static_cast<uint32_t>(rng.Bounded(1500));
    const Dealing dealing = {
        .batch = 1 + static_cast<uint32_t>(rng.Bounded(32)),
        .workers = 1 + static_cast<uint32_t>(rng.Bounded(6))};
    const Indices order = TorchRandperm(n, static_cast<uint32_t>(seed));
    const uint64_t window = 4 * dealing.batch * dealing.workers + 16;
    ReadPlan plan(order, std::vector<bool>(n));
    std::vector<bool> read(n);
    uint64_t missed = 0;
    for (const SimulatedOpen& open : OpensOf({order}, dealing, n, rng)) {
      if (!read[open.index]) ++missed;
      plan.Came(open.thread, open.index);
      read[open.index] = true;
      if (plan.ahead() > window / 2) continue;
      for (const uint32_t index : plan.Next(window - plan.ahead())) {
        ASSERT_FALSE(read[index]);
        ASSERT_TRUE(plan.Awaits(index));
        read[index] = true;
      }
    }
    EXPECT_LE(missed, n / 5);
    EXPECT_EQ(plan.ahead(), 0u);
    all += n;
    all_missed += missed;
  }
  EXPECT_LE(all_missed, all / 25);
}

}  // namespace
}  // namespace shufflefs
