// SPDX-License-Identifier: Apache-2.0
// Lists of ranges, and what a plan wants by file and position.
#include "core/staging/stager/staging_requests.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/staging/tier/tier_fixture.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using testing_support::SetPlan;

constexpr uint64_t kP = kTierPage;

class StagingRequestsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    packed_ = testing_support::TreeOf({5000, 300000, 1, 0, 10 * kP});
  }
  const Catalogue& catalogue() const { return *packed_->catalogue; }
  static StagedRange Range(uint32_t file, uint64_t from, uint64_t to) {
    return {EntryId(file), from, to - from};
  }
  StagingRequests Requests(const std::vector<uint64_t>& sets) {
    return StagingRequests(catalogue(), plan_, sets, nullptr);
  }

  std::unique_ptr<testing_support::PackedTree> packed_;
  SetPlan plan_;
};

TEST_F(StagingRequestsTest, ListsGiveBackWhatTheyGot) {
  const std::vector<StagedRange> ranges = {
      Range(0, 0, 5000),    Range(4, 0, 10 * kP),
      Range(1, kP, 3 * kP), Range(1, 70 * kP, 300000),
      Range(2, 0, 1),       Range(4, 9 * kP, 10 * kP)};
  for (size_t count = 0; count <= ranges.size(); ++count) {
    TierRanges list(catalogue());
    for (size_t i = 0; i < count; ++i) list.Append(ranges[i]);
    ASSERT_EQ(list.size(), count);
    for (size_t i = 0; i < count; ++i) EXPECT_EQ(list[i], ranges[i]) << i;
  }
}

TEST_F(StagingRequestsTest, WhatIsNoRangeOfTheCatalogueIsLeftOut) {
  plan_.Put(1, {Range(3, 0, 0), Range(0, 0, 5000), Range(0, 0, 5001),
                Range(1, 1, kP), Range(1, 0, kP + 1), Range(77, 0, kP),
                Range(1, 74 * kP, 75 * kP), Range(1, 72 * kP, 300000)});
  const StagingRequests requests = Requests({1, 2});
  EXPECT_THAT(requests.numbers(), ElementsAre(1, 2));
  const TierRanges& list = *requests.sets()[0].ranges;
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0], Range(0, 0, 5000));
  EXPECT_EQ(list[1], Range(1, 72 * kP, 300000));
  EXPECT_TRUE(requests.sets()[1].ranges->empty());
}

TEST_F(StagingRequestsTest, FindsTheNextRangeOfAFile) {
  plan_.Put(1, {Range(1, 8 * kP, 10 * kP), Range(0, 0, 5000)});
  plan_.Put(2, {Range(1, 2 * kP, 5 * kP), Range(4, 4 * kP, 5 * kP)});
  const StagingRequests requests = Requests({1, 2});
  EXPECT_EQ(requests.Next(EntryId(0), 0), Range(0, 0, 5000));
  EXPECT_FALSE(requests.Next(EntryId(0), kP).has_value());
  for (const uint64_t from : {uint64_t{0}, kP, 2 * kP}) {
    EXPECT_EQ(requests.Next(EntryId(1), from), Range(1, 2 * kP, 5 * kP));
  }
  EXPECT_EQ(requests.Next(EntryId(1), 2 * kP + 1), Range(1, 8 * kP, 10 * kP));
  EXPECT_EQ(requests.Next(EntryId(1), 8 * kP), Range(1, 8 * kP, 10 * kP));
  EXPECT_FALSE(requests.Next(EntryId(1), 9 * kP).has_value());
  EXPECT_FALSE(requests.Next(EntryId(2), 0).has_value());
  EXPECT_FALSE(requests.Next(EntryId(1000), 0).has_value());
  EXPECT_TRUE(requests.wants(Range(1, 2 * kP, 5 * kP)));
  EXPECT_FALSE(requests.wants(Range(1, 2 * kP, 4 * kP)));
  EXPECT_FALSE(requests.wants(Range(4, 0, 10 * kP)));
}

TEST_F(StagingRequestsTest, CountsWhatIsWantedOfAPlace) {
  plan_.Put(1, {Range(1, 8 * kP, 10 * kP), Range(0, 0, 5000)});
  plan_.Put(2, {Range(1, 2 * kP, 5 * kP), Range(1, 4 * kP, 7 * kP),
                Range(1, 8 * kP, 10 * kP), Range(1, 73 * kP, 300000)});
  const StagingRequests requests = Requests({1, 2});
  const auto expect = [&](const StagedRange& range, uint64_t first,
                          uint64_t any) {
    const TierStore::Wanted wanted = requests.WantedIn(range);
    EXPECT_EQ(wanted.first, first * kP);
    EXPECT_EQ(wanted.any, any * kP);
  };
  expect(Range(0, 0, 5000), 2, 2);
  expect(Range(0, 0, kP), 0, 0);
  expect(Range(1, 2 * kP, 5 * kP), 0, 3);
  expect(Range(1, 8 * kP, 10 * kP), 2, 2);  // of both, once
  expect(Range(1, 8 * kP, 9 * kP), 0, 0);
  expect(Range(1, 2 * kP, 7 * kP), 0, 5);  // a page is of two ranges
  expect(Range(1, 0, 300000), 2, 9);
  expect(Range(4, 0, 10 * kP), 0, 0);
}

TEST_F(StagingRequestsTest, SetsThatStayAreNotAskedForAgain) {
  plan_.Put(1, {Range(1, 0, kP)});
  const StagingRequests before = Requests({1});
  plan_.Put(1, {});
  plan_.Put(2, {Range(0, 0, 5000)});
  const StagingRequests requests(catalogue(), plan_, {2, 1}, &before);
  EXPECT_EQ(requests.sets()[1].ranges, before.sets()[0].ranges);
  EXPECT_EQ(requests.WantedIn(Range(1, 0, kP)).first, 0u);
  EXPECT_EQ(requests.WantedIn(Range(1, 0, kP)).any, kP);
}

}  // namespace
}  // namespace shufflefs
