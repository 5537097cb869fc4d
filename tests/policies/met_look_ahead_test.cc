// SPDX-License-Identifier: Apache-2.0
// What met fetches from the tier before readers ask for it.
#include "policies/met/met_look_ahead.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/ledger/served_counts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policies/met/met_binder.h"
#include "tests/policies/met_fixture.h"

namespace shufflefs {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing_support::Fixed;
using testing_support::MakeBinderData;

// One group of 200 samples of 1,000 bytes, memory for all of them.
class MetLookAheadTest : public testing::Test {
 protected:
  void Begin(const MetOptions& options) {
    binder_.emplace(options, data_->input);
    binder_->BeginEpoch(Seed(1), Epoch(0), {});
  }
  void Stage() {
    for (const uint64_t set : binder_->WantedSets()) binder_->SetReady(set);
  }
  uint64_t Bind(uint64_t name) {
    const SampleId sample = binder_->Bind(SampleId(name));
    binder_->Opened(SampleId(name));
    return sample.value();
  }
  std::vector<SampleId> NextFetch() { return binder_->NextFetch(200'000); }
  std::vector<uint32_t> Counts() const {
    return *UnpackCounts(binder_->ServedNow(), 200);
  }

  const std::unique_ptr<testing_support::BinderData> data_ =
      MakeBinderData({200}, 200, 64, true);
  std::optional<MetBinder> binder_;
};

TEST_F(MetLookAheadTest, NothingIsFetchedThatIsNotInTheTier) {
  Begin(Fixed(4, 2, 4));
  Bind(0);
  EXPECT_THAT(NextFetch(), IsEmpty());
  Stage();
  const std::vector<SampleId> fetched = NextFetch();
  EXPECT_FALSE(fetched.empty());
  EXPECT_LE(fetched.size(), 26u) << "half a mini-epoch";
  std::set<uint64_t> staged;
  for (const SampleId each : binder_->SamplesOf(binder_->WantedSets()[0])) {
    staged.insert(each.value());
  }
  for (const SampleId each : fetched) {
    EXPECT_TRUE(staged.contains(each.value())) << each.value();
  }
}

TEST_F(MetLookAheadTest, ItEndsWithTheMiniEpochUntilTheNextIsThere) {
  Begin(Fixed(4, 1, 4));
  binder_->SetReady(binder_->WantedSets()[0]);
  std::set<uint64_t> all;
  uint64_t name = 0;
  for (; name < 45; ++name) {
    all.insert(Bind(name));
    for (const SampleId each : NextFetch()) binder_->Arrived(each);
  }
  const std::vector<uint32_t> counts = Counts();
  EXPECT_EQ(std::count(counts.begin(), counts.end(), 1u), 45);
  for (; name < 50; ++name) all.insert(Bind(name));
  EXPECT_THAT(all, SizeIs(50));
  EXPECT_THAT(NextFetch(), IsEmpty());
  Stage();
  EXPECT_FALSE(NextFetch().empty());
}

TEST_F(MetLookAheadTest, WhatWasDrawnAndNotTakenWasNotShown) {
  Begin(Fixed(1, 4, 4));
  Bind(0);
  Stage();
  ASSERT_FALSE(NextFetch().empty());
  const std::vector<uint32_t> counts = Counts();
  EXPECT_EQ(std::count(counts.begin(), counts.end(), 0u), 199);
  EXPECT_EQ(binder_->status().most, 1u);
  EXPECT_EQ(binder_->status().fewest, 0u);
}

TEST_F(MetLookAheadTest, WhatIsInMemoryComesFirst) {
  Begin(Fixed(1, 4, 4));
  Bind(0);
  Stage();
  const std::vector<SampleId> fetched = NextFetch();
  ASSERT_GT(fetched.size(), 3u);
  binder_->Arrived(fetched[2]);
  EXPECT_EQ(Bind(1), fetched[2].value());
  EXPECT_EQ(Bind(2), fetched[0].value()) << "none is: the first";
  EXPECT_FALSE(binder_->fetched_ahead(fetched[2]));
  EXPECT_TRUE(binder_->fetched_ahead(fetched[1]));
}

TEST_F(MetLookAheadTest, WhatHadToLeaveIsFetchedAgain) {
  Begin(Fixed(1, 4, 4));
  Bind(0);
  Stage();
  const std::vector<SampleId> fetched = NextFetch();
  ASSERT_GT(fetched.size(), 10u);
  for (const SampleId each : fetched) binder_->Arrived(each);
  // Another view needs the memory. A reader takes one meanwhile.
  for (const SampleId each : fetched) binder_->Left(each);
  EXPECT_THAT(binder_->NextFetch(0), IsEmpty());
  EXPECT_EQ(Bind(1), fetched[0].value());
  const std::vector<SampleId> again = NextFetch();
  ASSERT_GE(again.size(), fetched.size() - 1);
  EXPECT_TRUE(std::equal(fetched.begin() + 1, fetched.end(), again.begin()));
  EXPECT_THAT(NextFetch(), IsEmpty());
}

// Otherwise a broken file would be read over and over.
TEST_F(MetLookAheadTest, AReadThatFailedIsNotTriedAgain) {
  Begin(Fixed(1, 4, 4));
  Bind(0);
  Stage();
  const std::vector<SampleId> fetched = NextFetch();
  ASSERT_GT(fetched.size(), 10u);
  for (const SampleId each : fetched) binder_->Left(each);
  EXPECT_THAT(NextFetch(), IsEmpty());
}

// A name costs the same, however much is ahead.
TEST_F(MetLookAheadTest, OnlyTheNextOnesAreCompared) {
  const auto data = MakeBinderData({1000}, 1000, 64, true);
  binder_.emplace(Fixed(1, 4, 4), data->input);
  binder_->BeginEpoch(Seed(1), Epoch(0), {});
  Bind(0);
  Stage();
  const std::vector<SampleId> fetched = binder_->NextFetch(1'000'000);
  ASSERT_GT(fetched.size(), 70u);
  binder_->Arrived(fetched[64]);
  EXPECT_EQ(Bind(1), fetched[0].value());
  EXPECT_EQ(Bind(2), fetched[64].value()) << "the last of 64 by now";
  binder_.reset();
}

TEST_F(MetLookAheadTest, AnotherRunOrSeedBeginsWithNothingAhead) {
  Begin(Fixed(1, 1, 0));
  for (uint64_t epoch = 1; epoch < 4; ++epoch) {
    Stage();
    Bind(0);
    ASSERT_FALSE(NextFetch().empty());
    // A token in the second round, another seed in all.
    std::vector<uint32_t> counts(200, 7);
    if (epoch == 2) {
      ASSERT_TRUE(binder_->TakeServed(PackCounts(counts)).ok());
    } else {
      counts = Counts();
    }
    binder_->BeginEpoch(Seed(epoch + 1), Epoch(epoch), {});
    for (uint64_t name = 0; name < 200; ++name) ++counts[Bind(name)];
    const auto [least, most] =
        std::minmax_element(counts.begin(), counts.end());
    EXPECT_LE(*most - *least, epoch == 2 ? 0u : 1u) << epoch;
  }
}

// Of the next epoch, too: it was drawn for that, and then came by itself.
TEST_F(MetLookAheadTest, ASampleThatIsRetainedOverIsNotShownAgain) {
  Begin(Fixed(1, 1, 0));
  std::vector<NameBinding> retained;
  for (uint64_t epoch = 1; epoch < 6; ++epoch) {
    Stage();
    for (uint64_t name = 0; name < 200; ++name) {
      if (binder_->Bound(SampleId(name))) continue;
      Bind(name);
      for (const SampleId each : NextFetch()) binder_->Arrived(each);
    }
    const std::vector<uint32_t> counts = Counts();
    EXPECT_EQ(std::set<uint32_t>(counts.begin(), counts.end()),
              std::set<uint32_t>{static_cast<uint32_t>(epoch)});
    retained.clear();
    for (uint64_t sample = 0; sample < 200 && retained.size() < 5; ++sample) {
      if (!binder_->fetched_ahead(SampleId(sample))) continue;
      retained.push_back({binder_->NameOf(SampleId(sample))->value(), sample});
    }
    ASSERT_THAT(retained, SizeIs(5)) << "drawn for the next epoch";
    binder_->BeginEpoch(Seed(1), Epoch(epoch), retained);
    for (const NameBinding& pair : retained) {
      EXPECT_FALSE(binder_->fetched_ahead(SampleId(pair.sample)));
    }
  }
}

}  // namespace
}  // namespace shufflefs
