// SPDX-License-Identifier: Apache-2.0
// Nodes agree who shares the names of an epoch that are bound on demand.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/job_epochs/simulated_job.h"
#include "tests/testing/effort.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using testing_support::JobShape;
using testing_support::Rounds;
using testing_support::SimulatedJob;

void ForgetMembers(SimulatedJob& job, uint64_t nodes) {
  for (uint64_t i = 0; i < nodes; ++i) job.view(i).ForgetMembers();
}

void ExpectShared(SimulatedJob& job, const std::vector<std::string>& members,
                  uint64_t nodes) {
  for (uint64_t i = 0; i < nodes; ++i) {
    EXPECT_EQ(job.view(i).members, members) << "node " << i;
  }
}

TEST(SharingTest, NamesAreSharedBeforeTheFirstOpen) {
  SimulatedJob job(JobShape{.nodes = 3});
  ForgetMembers(job, 3);
  job.Wait(700);
  ExpectShared(job, {"n0", "n1", "n2"}, 3);
  EXPECT_EQ(job.view(0).GroupState().epoch, 0u);
  for (uint64_t epoch = 0; epoch < 8; ++epoch) {
    EXPECT_EQ(job.Pass(epoch), 0u) << "epoch " << epoch;
  }
  EXPECT_GE(job.view(1).bound, 6u);
  EXPECT_EQ(job.view(1).held, 0u);
  ExpectShared(job, {"n0", "n1", "n2"}, 3);
}

TEST(SharingTest, ManySeedsWithLostMessages) {
  for (uint64_t seed = 1; seed <= Rounds<uint64_t>(60); ++seed) {
    SCOPED_TRACE(seed);
    SimulatedJob job(JobShape{.nodes = 4,
                              .names = 2000,
                              .lost_of_256 = 20,
                              .twice_of_256 = 20,
                              .seed = seed});
    ForgetMembers(job, 4);
    job.Wait(3000);
    ExpectShared(job, {"n0", "n1", "n2", "n3"}, 4);
    for (uint64_t epoch = 0; epoch < 4; ++epoch) {
      EXPECT_EQ(job.Pass(epoch), 0u) << "epoch " << epoch;
    }
    EXPECT_TRUE(job.Agree());
  }
}

// What was opened before shows its own samples, and counts for that epoch.
TEST(SharingTest, AnEpochThatWasReadIsSharedFromTheNextOnOnly) {
  SimulatedJob job(JobShape{.nodes = 3});
  ForgetMembers(job, 3);
  job.SetJoined(2, false);
  job.ReadAlone(1, 5);
  job.Wait(50);
  job.SetJoined(2, true);
  job.Wait(2000);
  ExpectShared(job, {}, 3);
  EXPECT_EQ(job.view(0).GroupState().epoch, 0u);
  job.Signal(1, 0);
  job.Wait(1000);
  ExpectShared(job, {"n0", "n1", "n2"}, 3);
  EXPECT_EQ(job.view(0).GroupState().epoch, 1u);
  for (uint64_t epoch = 0; epoch < 4; ++epoch) EXPECT_EQ(job.Pass(epoch), 0u);
}

// With epoch.advance = manual nobody tells the lead of opens.
TEST(SharingTest, WhatNobodyToldOfCountsToo) {
  SimulatedJob job(JobShape{.nodes = 3});
  ForgetMembers(job, 3);
  job.view(2).opened.insert(7);
  job.Wait(5000);
  ExpectShared(job, {}, 3);
  EXPECT_FALSE(job.view(0).closed);
  job.Signal(1, 0);
  job.Wait(1000);
  ExpectShared(job, {"n0", "n1", "n2"}, 3);
  // One is away while the others read an epoch, and does not change it.
  job.SetJoined(2, false);
  job.Signal(0, 0);
  job.Wait(1500);
  job.view(1).opened.insert(8);
  job.SetJoined(2, true);
  job.Wait(5000);
  EXPECT_THAT(job.view(1).members, ElementsAre("n0", "n1"));
}

TEST(SharingTest, NobodySharesWhileANodeIsAway) {
  SimulatedJob job(JobShape{.nodes = 3});
  ForgetMembers(job, 3);
  job.SetJoined(1, false);
  job.Wait(3000);
  EXPECT_TRUE(job.view(0).members.empty());
  EXPECT_TRUE(job.view(2).members.empty());
  job.SetJoined(1, true);
  job.Wait(3000);
  ExpectShared(job, {"n0", "n1", "n2"}, 3);
}

// A daemon that comes back in mid-epoch joins those that share it, also if it
// leads.
TEST(SharingTest, ARestartedNodeJoinsTheEpoch) {
  for (const uint64_t node : {0u, 2u}) {
    SCOPED_TRACE(node);
    SimulatedJob job(JobShape{.nodes = 3});
    ForgetMembers(job, 3);
    job.Wait(700);
    job.Pass(0);
    job.Wait(500);
    job.ReadAlone(1, 40);
    job.Wait(200);
    const uint64_t epoch = job.view(1).GroupState().epoch;
    job.view(node).ForgetMembers();
    job.Restart(node);
    job.Wait(2000);
    ExpectShared(job, {"n0", "n1", "n2"}, 3);
    EXPECT_TRUE(job.Agree());
    EXPECT_EQ(job.view(node).GroupState().epoch, epoch);
    EXPECT_EQ(job.view(1).adopted, 0u) << "it had nothing to learn";
    EXPECT_EQ(job.view(node).told, 2u) << "by both of the others";
    EXPECT_TRUE(job.view(node).told_all);
  }
}

// If one of the others does not say what it knows, that is noticed.
TEST(SharingTest, ARestartedNodeWaitsForNobodyForLong) {
  SimulatedJob job(JobShape{.nodes = 3});
  ForgetMembers(job, 3);
  job.Wait(700);
  job.ReadAlone(1, 40);
  job.Wait(100);
  job.Cut(2, 3);  // nobody knows
  job.view(1).ForgetMembers();
  job.Restart(1);
  job.Cut(2, 3);
  job.Wait(3000);
  EXPECT_EQ(job.view(1).members.size(), 3u);
  EXPECT_EQ(job.view(1).told, 1u);
  EXPECT_FALSE(job.view(1).told_all);
}

// Each could only ask the other, who knows nothing either.
TEST(SharingTest, TwoNodesThatAreRestartedTogetherWereNotToldAll) {
  SimulatedJob job(JobShape{.nodes = 3});
  ForgetMembers(job, 3);
  job.Wait(700);
  job.ReadAlone(1, 40);
  job.Wait(100);
  for (const uint64_t node : {1u, 2u}) {
    job.view(node).ForgetMembers();
    job.Restart(node);
  }
  job.Wait(3000);
  bool told_all = true;
  for (const uint64_t node : {1u, 2u}) {
    EXPECT_EQ(job.view(node).members.size(), 3u);
    EXPECT_LE(job.view(node).told, 2u);
    told_all = told_all && job.view(node).told_all;
  }
  EXPECT_FALSE(told_all);
}

// The user's signal leaves a node out that does not answer. It owns nothing
// until it is back.
TEST(SharingTest, WhoIsAwayDoesNotShare) {
  SimulatedJob job(JobShape{.nodes = 3});
  ForgetMembers(job, 3);
  job.Wait(700);
  job.SetJoined(2, false);
  job.Signal(0, 0);
  job.Wait(1500);
  EXPECT_THAT(job.view(0).members, ElementsAre("n0", "n1"));
  job.SetJoined(2, true);
  job.Wait(4000);
  // Nothing was opened, so they share anew.
  ExpectShared(job, {"n0", "n1", "n2"}, 3);
  EXPECT_TRUE(job.Agree());
}

}  // namespace
}  // namespace shufflefs
