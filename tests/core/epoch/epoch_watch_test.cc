// SPDX-License-Identifier: Apache-2.0
#include "core/epoch/epoch_watch.h"

#include "gtest/gtest.h"

namespace shufflefs {
namespace {

constexpr uint32_t kReader = 1;
constexpr uint32_t kHidden = 0;

class EpochWatchTest : public testing::Test {
 protected:
  EpochWatchTest() : watch_(Options(), families_) {}

  static EpochWatch::Options Options() {
    EpochWatch::Options options;
    options.samples = 100;
    options.groups = 1;
    options.finds_epochs = true;
    return options;
  }

  bool Take(uint64_t sample, uint32_t reader) {
    return watch_.TakeLookup({SampleId(sample), reader});
  }
  EpochWatch::Seen Open(uint64_t name, uint32_t reader) {
    EpochWatch::Open open;
    open.name = SampleId(name);
    open.reader = reader;
    return watch_.NoteOpen(open);
  }

  ReaderFamilies families_;
  EpochWatch watch_;
};

// It looks its name up again, and the second time it is served.
TEST_F(EpochWatchTest, WhatWasSentBackAfterAllIsBelievedAndCountsOnce) {
  watch_.ShowWalks();
  watch_.lookups()->Note(SampleId(7), kReader);
  ASSERT_TRUE(Take(7, kReader));
  ASSERT_TRUE(Open(7, kReader).fresh);
  ASSERT_TRUE(watch_.MaySendBack(kReader));
  watch_.BeginEpoch();
  watch_.SendBack(SampleId(7), kReader);

  watch_.lookups()->Note(SampleId(7), kReader);
  EXPECT_TRUE(Take(7, kReader));
  EXPECT_FALSE(Open(7, kReader).fresh);
  EXPECT_EQ(watch_.rereads(), 0u);
  EXPECT_EQ(watch_.consumed(), 1u);
  // The next one is a re-read.
  EXPECT_FALSE(Open(7, kReader).fresh);
  EXPECT_EQ(watch_.rereads(), 1u);
}

// Over a boundary before its second open the name keeps what it was told then.
TEST_F(EpochWatchTest, WhatWasSentBackAfterAllIsUnderWay) {
  watch_.lookups()->Note(SampleId(7), kReader);
  ASSERT_TRUE(Take(7, kReader));
  Open(7, kReader);
  watch_.SendBack(SampleId(7), kReader);
  EXPECT_TRUE(watch_.TakeUnderWay().empty());
  watch_.BeginEpoch();
  watch_.lookups()->Note(SampleId(9), kReader);
  EXPECT_EQ(watch_.TakeUnderWay(), std::vector<SampleId>{SampleId(9)});
}

// The kernel asks once more and no third time; and whether it asked for the
// second time is not known of readers that cannot be told apart.
TEST_F(EpochWatchTest, NobodyIsSentBackTwiceForOneOpen) {
  watch_.ShowWalks();
  ASSERT_FALSE(Take(7, kReader)) << "nobody looked it up";
  ASSERT_TRUE(Take(7, kReader));
  EXPECT_FALSE(watch_.MaySendBack(kReader));
  watch_.lookups()->Note(SampleId(7), kReader);
  ASSERT_TRUE(Take(7, kReader)) << "looked up by now";
  EXPECT_TRUE(watch_.MaySendBack(kReader));
  EXPECT_FALSE(watch_.MaySendBack(kHidden));
}

// What it opens after all must be what it has sized.
TEST_F(EpochWatchTest, WhoMayHaveSizedANameIsNotSentBackFromIt) {
  watch_.lookups()->Note(SampleId(7), kReader);
  ASSERT_TRUE(Take(7, kReader));
  EXPECT_FALSE(watch_.MaySendBack(kReader)) << "a stat may have been no lookup";
  watch_.ShowWalks();
  watch_.lookups()->Note(SampleId(7), kReader);
  watch_.lookups()->Note(SampleId(7), kReader);
  ASSERT_TRUE(Take(7, kReader));
  EXPECT_FALSE(watch_.MaySendBack(kReader)) << "one more than it walked to it";
}

TEST_F(EpochWatchTest, WhatWasLookedUpAndNotOpenedIsUnderWayWhileWalksAreShown) {
  watch_.lookups()->Note(SampleId(1), kReader);
  watch_.ShowWalks();
  for (const uint64_t sample : {2, 3, 4}) {
    watch_.lookups()->Note(SampleId(sample), kReader);
  }
  ASSERT_TRUE(Take(3, kReader));
  EXPECT_EQ(watch_.TakeUnderWay(),
            (std::vector<SampleId>{SampleId(2), SampleId(4)}));
  EXPECT_TRUE(watch_.HideWalks());
  EXPECT_FALSE(watch_.HideWalks());
  EXPECT_TRUE(watch_.TakeUnderWay().empty());
}

// Names that the kernel remembers would hide a walk from then on.
TEST_F(EpochWatchTest, WalksAreDueBeforeThePassCanEnd) {
  EXPECT_FALSE(watch_.WalksAreDue());
  for (uint64_t name = 0; name < 99; ++name) {
    EXPECT_FALSE(watch_.WalksAreDue()) << name;
    Open(name, kReader);
  }
  EXPECT_TRUE(watch_.WalksAreDue()) << "one name is left";
  EXPECT_TRUE(watch_.may_list());
  watch_.ShowWalks();
  EXPECT_FALSE(watch_.WalksAreDue());
  EXPECT_FALSE(watch_.may_list());
  watch_.BeginEpoch();
  EXPECT_FALSE(watch_.shows_walks());
  EXPECT_TRUE(watch_.may_list());
}

}  // namespace
}  // namespace shufflefs
