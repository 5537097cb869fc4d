// SPDX-License-Identifier: Apache-2.0
#include "core/epoch/open_tracker.h"

#include "gtest/gtest.h"

namespace shufflefs {
namespace {

constexpr uint32_t kReader = 1;
constexpr uint32_t kHidden = 0;

class OpenTrackerTest : public testing::Test {
 protected:
  OpenTrackerTest() : tracker_(Options(), job_tracker_) {}

  static OpenTracker::Options Options() {
    OpenTracker::Options options;
    options.samples = 100;
    options.groups = 1;
    options.finds_epochs = true;
    return options;
  }

  bool Take(uint64_t sample, uint32_t reader) {
    return tracker_.TakeLookup({SampleId(sample), reader});
  }
  OpenTracker::Seen Open(uint64_t name, uint32_t reader) {
    OpenTracker::Open open;
    open.name = SampleId(name);
    open.reader = reader;
    return tracker_.NoteOpen(open);
  }

  JobTracker job_tracker_;
  OpenTracker tracker_;
};

// It looks its name up again, and the second time it is served.
TEST_F(OpenTrackerTest, WhatWasSentBackAfterAllIsBelievedAndCountsOnce) {
  tracker_.ShowWalks();
  tracker_.lookups()->Note(SampleId(7), kReader);
  ASSERT_TRUE(Take(7, kReader));
  ASSERT_TRUE(Open(7, kReader).fresh);
  ASSERT_TRUE(tracker_.MaySendBack(kReader));
  tracker_.BeginEpoch();
  tracker_.SendBack(SampleId(7), kReader);

  tracker_.lookups()->Note(SampleId(7), kReader);
  EXPECT_TRUE(Take(7, kReader));
  EXPECT_FALSE(Open(7, kReader).fresh);
  EXPECT_EQ(tracker_.rereads(), 0u);
  EXPECT_EQ(tracker_.consumed(), 1u);
  // The next one is a re-read.
  EXPECT_FALSE(Open(7, kReader).fresh);
  EXPECT_EQ(tracker_.rereads(), 1u);
}

// Over a boundary before its second open the name keeps what it was told then.
TEST_F(OpenTrackerTest, WhatWasSentBackAfterAllIsUnderWay) {
  tracker_.lookups()->Note(SampleId(7), kReader);
  ASSERT_TRUE(Take(7, kReader));
  Open(7, kReader);
  tracker_.SendBack(SampleId(7), kReader);
  EXPECT_TRUE(tracker_.TakeUnderWay().empty());
  tracker_.BeginEpoch();
  tracker_.lookups()->Note(SampleId(9), kReader);
  EXPECT_EQ(tracker_.TakeUnderWay(), std::vector<SampleId>{SampleId(9)});
}

// The kernel asks once more and no third time; and whether it asked for the
// second time is not known of readers that cannot be told apart.
TEST_F(OpenTrackerTest, NobodyIsSentBackTwiceForOneOpen) {
  tracker_.ShowWalks();
  ASSERT_FALSE(Take(7, kReader)) << "nobody looked it up";
  ASSERT_TRUE(Take(7, kReader));
  EXPECT_FALSE(tracker_.MaySendBack(kReader));
  tracker_.lookups()->Note(SampleId(7), kReader);
  ASSERT_TRUE(Take(7, kReader)) << "looked up by now";
  EXPECT_TRUE(tracker_.MaySendBack(kReader));
  EXPECT_FALSE(tracker_.MaySendBack(kHidden));
}

// What it opens after all must be what it has sized.
TEST_F(OpenTrackerTest, WhoMayHaveSizedANameIsNotSentBackFromIt) {
  tracker_.lookups()->Note(SampleId(7), kReader);
  ASSERT_TRUE(Take(7, kReader));
  EXPECT_FALSE(tracker_.MaySendBack(kReader))
      << "a stat may have been no lookup";
  tracker_.ShowWalks();
  tracker_.lookups()->Note(SampleId(7), kReader);
  tracker_.lookups()->Note(SampleId(7), kReader);
  ASSERT_TRUE(Take(7, kReader));
  EXPECT_FALSE(tracker_.MaySendBack(kReader))
      << "one more than it walked to it";
}

TEST_F(OpenTrackerTest,
       WhatWasLookedUpAndNotOpenedIsUnderWayWhileWalksAreShown) {
  tracker_.lookups()->Note(SampleId(1), kReader);
  tracker_.ShowWalks();
  for (const uint64_t sample : {2, 3, 4}) {
    tracker_.lookups()->Note(SampleId(sample), kReader);
  }
  ASSERT_TRUE(Take(3, kReader));
  EXPECT_EQ(tracker_.TakeUnderWay(),
            (std::vector<SampleId>{SampleId(2), SampleId(4)}));
  EXPECT_TRUE(tracker_.HideWalks());
  EXPECT_FALSE(tracker_.HideWalks());
  EXPECT_TRUE(tracker_.TakeUnderWay().empty());
}

// Names that the kernel remembers would hide a walk from then on.
TEST_F(OpenTrackerTest, WalksAreDueBeforeThePassCanEnd) {
  EXPECT_FALSE(tracker_.WalksAreDue());
  for (uint64_t name = 0; name < 99; ++name) {
    EXPECT_FALSE(tracker_.WalksAreDue()) << name;
    Open(name, kReader);
  }
  EXPECT_TRUE(tracker_.WalksAreDue()) << "one name is left";
  EXPECT_TRUE(tracker_.may_list());
  tracker_.ShowWalks();
  EXPECT_FALSE(tracker_.WalksAreDue());
  EXPECT_FALSE(tracker_.may_list());
  tracker_.BeginEpoch();
  EXPECT_FALSE(tracker_.shows_walks());
  EXPECT_TRUE(tracker_.may_list());
}

TEST_F(OpenTrackerTest, APassThatWasBrokenOffIsNoEvidence) {
  EXPECT_EQ(tracker_.Signal(), Suspicion::kNone) << "nothing was opened";
  for (uint64_t name = 0; name < 90; ++name) Open(name, kReader);
  EXPECT_EQ(tracker_.Signal(), Suspicion::kNone);
  tracker_.BeginEpoch();
  for (uint64_t name = 0; name < 100; ++name) Open(name, kReader);
  EXPECT_EQ(tracker_.Signal(), Suspicion::kNone);
}

}  // namespace
}  // namespace shufflefs
