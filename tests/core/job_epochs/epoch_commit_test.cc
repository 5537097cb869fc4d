// SPDX-License-Identifier: Apache-2.0
// What a lead tells its members of the next epoch, and how it counts its polls.
#include "core/job_epochs/epoch_commit.h"

#include <string>
#include <vector>

#include "core/job_epochs/member_polls.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

using Time = MemberPolls::Time;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

EpochCommit Commit() {
  EpochCommit commit;
  commit.next = 8;
  commit.verdict = "b";
  commit.retained = {2, 5};
  commit.from_epoch = 7;
  commit.from_binding = 70;
  commit.opened = {{"a", {5}}, {"b", {2, 5, 9}}};
  commit.first = {{"a", 3}, {"b", 40}};
  commit.ShareAmongPrepared();
  return commit;
}

TEST(EpochCommitTest, EachMemberIsToldWhatItOpenedItself) {
  for (const std::string to : {"a", "b", "late"}) {
    EpochMessage message;
    Commit().Tell(to, {}, message);
    EXPECT_EQ(message.epoch, 7u);
    EXPECT_EQ(message.binding, 70u);
    EXPECT_EQ(message.next, 8u);
    EXPECT_EQ(message.reason, "b");
    EXPECT_THAT(message.names, ElementsAre(2, 5));
    EXPECT_THAT(message.members, ElementsAre("a", "b"));
    EXPECT_THAT(message.pairs, IsEmpty()) << "the plan says them";
    EXPECT_EQ(message.first, to == "a" ? 3u : to == "b" ? 40u : 0u);
    EXPECT_EQ(message.opened.size(), to == "a" ? 1u : to == "b" ? 3u : 0u);
  }
}

TEST(EpochCommitTest, WithoutAPlanSamplesGoWithTheNamesThatShowedThem) {
  std::vector<uint64_t> sample_of(10, EpochCommit::kUnknown);
  sample_of[5] = 4;
  sample_of[9] = 1;  // not retained
  EpochMessage message;
  Commit().Tell("a", sample_of, message);
  ASSERT_EQ(message.pairs.size(), 1u);
  EXPECT_EQ(message.pairs[0].name, 5u);
  EXPECT_EQ(message.pairs[0].sample, 4u);
}

TEST(EpochCommitTest, TheLargestMessageCounts) {
  EXPECT_EQ(Commit().Entries(/*pairs=*/false), 2u + 3u);
  EXPECT_EQ(Commit().Entries(/*pairs=*/true), 4u + 3u);
  EXPECT_EQ(EpochCommit().Entries(/*pairs=*/true), 0u);
}

// A message has no room for so many.
TEST(EpochCommitTest, TooManyMembersShareNothing) {
  EpochCommit commit = Commit();
  for (int i = 0; i < 70000; ++i) {
    commit.first["node" + std::to_string(i)] = 0;
  }
  commit.ShareAmongPrepared();
  EXPECT_THAT(commit.sharers, IsEmpty());
}

TEST(MemberPollsTest, APollFollowsTheAnswersToTheOneBefore) {
  MemberPolls polls(Time(5000), Time(100));
  EXPECT_EQ(polls.last(), 0u);
  ASSERT_TRUE(polls.Sends(0, Time(5000)));
  EXPECT_EQ(polls.last(), 1u);
  // Not answered: the same once more, after a while.
  EXPECT_FALSE(polls.Sends(0, Time(5099)));
  EXPECT_TRUE(polls.Sends(0, Time(5100)));
  EXPECT_EQ(polls.last(), 1u);
  EXPECT_FALSE(polls.IsOverdue(0, Time(6000)));
  EXPECT_TRUE(polls.IsOverdue(0, Time(6001)));
  EXPECT_FALSE(polls.IsOverdue(1, Time(6001)));
  EXPECT_TRUE(polls.Sends(1, Time(6001)));
  EXPECT_EQ(polls.last(), 2u);
  EXPECT_FALSE(polls.Sends(2, Time(6010))) << "too soon";
  EXPECT_TRUE(polls.Sends(2, Time(6011)));
}

TEST(MemberPollsTest, AnswersToAnEarlierRunCountForNothing) {
  MemberPolls before(Time(5000), Time(100));
  ASSERT_TRUE(before.Sends(0, Time(5000)));
  MemberPolls polls(Time(6000), Time(100));
  ASSERT_TRUE(polls.Sends(0, Time(6000)));
  EXPECT_EQ(polls.Answered(before.round()), 0u);
  EXPECT_EQ(polls.Answered(polls.round()), 1u);
  EXPECT_EQ(polls.Answered(polls.round() + 1), 0u) << "it was not sent";
}

// An open may be told as late as the slowest poll was answered after it.
TEST(MemberPollsTest, TheTimesOfAnEpochEndWithIt) {
  MemberPolls polls(Time(5000), Time(100));
  ASSERT_TRUE(polls.Sends(0, Time(5000)));
  polls.EndLast(Time(5300));
  polls.EndLast(Time(5900));  // once only
  const PollTimes times = polls.TakeTimes();
  EXPECT_EQ(MemberPolls::LatestAfter(times, Time(5100)),
            Time(300) + MemberPolls::kBetween);
  EXPECT_EQ(MemberPolls::LatestAfter(times, Time(5301)),
            2 * MemberPolls::kBetween);
  EXPECT_EQ(MemberPolls::LatestAfter(polls.TakeTimes(), Time(5100)),
            2 * MemberPolls::kBetween);
}

}  // namespace
}  // namespace shufflefs
