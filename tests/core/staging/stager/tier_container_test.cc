// SPDX-License-Identifier: Apache-2.0
// Ranges of container files in the tier: readers get the source's bytes from
// whatever has them, and the source is asked for the rest alone.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/staging/tier/tier_fixture.h"

namespace shufflefs {
namespace {

using testing_support::Asked;
using testing_support::Contents;
using testing_support::RandomBytes;
using testing_support::SetPlan;
using testing_support::Spill;
using testing_support::TierFixture;

constexpr uint64_t kP = kTierPage;
constexpr uint64_t kSize = 800 * kP + 77;
constexpr uint64_t kSmall = 9000;  // a step of copying

class TierContainerTest : public TierFixture {
 protected:
  // A container, and a small file that sorts behind it.
  void SetUp() override {
    Rng rng{RandomKey(1)};
    tree_.File("container", RandomBytes(rng, kSize));
    tree_.File("small", RandomBytes(rng, kSmall));
    Scan();
    container_ = *catalogue_->FindPath("container");
    small_ = *catalogue_->FindPath("small");
  }
  // By pages; up to the end of the file at most.
  StagedRange Range(uint64_t from, uint64_t to) const {
    return {container_, from * kP, std::min(to * kP, kSize) - from * kP};
  }
  Asked& AskPages(uint64_t from, uint64_t to) {
    const StagedRange range = Range(from, to);
    return Ask(container_, range.from, range.length);
  }
  // The small file is wanted first and hangs, so that nothing else of `ranges`
  // is copied, and readers' pieces are kept.
  void HoldUp(uint64_t set, std::vector<StagedRange> ranges,
              std::vector<uint64_t> wanted) {
    Tier::Options options = Options();
    options.bandwidth = 1 << 16;  // steps of one range
    Open(options);
    for (const uint64_t before : wanted) {
      if (before != set) plan_->WaitReady(before);
    }
    reader_->Hold("small");
    ranges.insert(ranges.begin(), {small_, 0, kSmall});
    plan_->Put(set, std::move(ranges));
    wanted.push_back(set);
    plan_->Want(wanted);
    tier_->Changed();
    Until([&] { return reader_->waiting("small") == 1; });
  }
  uint64_t reads() const { return reader_->stats().reads; }

  EntryId container_;
  EntryId small_;
};

TEST_F(TierContainerTest, APieceOverRangesOfTwoPartsAndNone) {
  Open();
  Stage(1, {Range(0, 10), Range(50, 90)});
  plan_->Put(2, {Range(10, 20), Range(790, 801)});
  plan_->Want({1, 2});
  tier_->Changed();
  plan_->WaitReady(2);
  EXPECT_EQ(Parts().size(), 2u);
  EXPECT_TRUE(tier_->Has(Range(50, 90)));
  EXPECT_TRUE(tier_->Has(Range(60, 70)));
  EXPECT_FALSE(tier_->Has(Range(0, 20)));
  EXPECT_FALSE(tier_->Has(container_));
  const uint64_t before = reads();
  AskPages(0, 20);
  AskPages(55, 60);
  AskPages(790, 801);
  Ask(container_, 800 * kP, 1);
  ExpectAllRight();
  EXPECT_EQ(reads(), before);
  AskPages(5, 801);  // [20, 50) and [90, 790) are in no part
  ExpectAllRight();
  EXPECT_EQ(reads(), before + 2);
  EXPECT_EQ(tier_->status().source_bytes, 730 * kP);
}

TEST_F(TierContainerTest, WhatIsOnItsWayIsJoinedByRange) {
  Open();
  Stage(1, {Range(0, 10)});
  reader_->Hold("container");
  plan_->Put(2, {Range(30, 40), Range(20, 30)});
  plan_->Want({1, 2});
  tier_->Changed();
  Until([&] { return reader_->waiting("container") == 2; });
  const uint64_t before = reads();
  Asked& all = AskPages(5, 45);
  AskPages(22, 25);
  AskPages(0, 10);
  Until([&] { return reader_->waiting("container") == 4; });
  EXPECT_EQ(all.calls(), 0);
  reader_->Release("container");
  ExpectAllRight();
  plan_->WaitReady(2);
  EXPECT_EQ(reads(), before + 2);  // [10, 20) and [40, 45)
  EXPECT_EQ(tier_->status().source_bytes, 15 * kP);
  EXPECT_EQ(tier_->status().copied_bytes, 30 * kP);
}

TEST_F(TierContainerTest, WantedRangesAreKeptOutOfALargerPiece) {
  HoldUp(1, {Range(20, 30), Range(29, 33), Range(60, 70), Range(72, 80)}, {});
  // Each comes as a whole, and once: one reaches behind what is asked for.
  AskPages(10, 75);
  AskPages(72, 80);
  ExpectAllRight();
  EXPECT_EQ(reads(), 8u);
  reader_->Release("small");
  plan_->WaitReady(1);
  const TierStatus status = tier_->status();
  EXPECT_EQ(status.captured_bytes, (10 + 4 + 10 + 8) * kP);
  EXPECT_EQ(status.copied_bytes, kSmall);
  EXPECT_EQ(reads(), 8u);
  AskPages(20, 33);
  AskPages(60, 70);
  AskPages(72, 80);
  ExpectAllRight();
  EXPECT_EQ(reads(), 8u);
}

// Nobody copies anything when a reader comes for what is wanted since just now.
// What comes while the copying thread wakes up may be read twice.
TEST_F(TierContainerTest, WhatIsAskedNowIsKeptFromTheFirstReadOn) {
  Open();
  constexpr int kSets = 20;
  Stage(1, {Range(0, 10)});
  const uint64_t before = reads();
  for (int i = 0; i < kSets; ++i) {
    const uint64_t set = 2 + i;
    plan_->Put(set, {Range(20 + 10 * i, 30 + 10 * i)});
    plan_->Want({set});
    tier_->AskNow();
    AskPages(20 + 10 * i, 30 + 10 * i);
    ExpectAllRight();
    plan_->WaitReady(set);
  }
  EXPECT_LE(reads(), before + kSets + kSets / 4);
}

// A page of it is there already, in the range before; it is kept even so.
TEST_F(TierContainerTest, ARangeThatSharesAPageIsKeptWhole) {
  plan_->Put(1, {Range(0, 10)});
  plan_->Want({1});
  HoldUp(2, {Range(9, 20), Range(19, 25)}, {1});
  const uint64_t before = reads();
  AskPages(9, 20);
  ExpectAllRight();
  AskPages(0, 25);
  ExpectAllRight();
  EXPECT_EQ(reads(), before + 2);
  EXPECT_EQ(tier_->status().source_bytes, (11 + 6) * kP);
  AskPages(0, 25);
  ExpectAllRight();
  reader_->Release("small");
  plan_->WaitReady(2);
  EXPECT_EQ(tier_->status().captured_bytes, (11 + 6) * kP);
  AskPages(0, 25);
  ExpectAllRight();
  EXPECT_EQ(reads(), before + 2);
}

TEST_F(TierContainerTest, ANewRunTakesRangesUp) {
  Open();
  Stage(1, {Range(0, 10), Range(9, 30), Range(700, 801)});
  const auto before = Contents(TierPath());
  tier_->Stop();
  plan_ = std::make_shared<SetPlan>();
  plan_->Put(9, {Range(700, 801), Range(9, 30), Range(0, 10)});
  plan_->Want({9});
  const uint64_t read = reads();
  Open();
  plan_->WaitReady(9);
  AskPages(0, 30);
  AskPages(700, 801);
  ExpectAllRight();
  EXPECT_EQ(reads(), read);
  EXPECT_EQ(Contents(TierPath()), before);
}

// Of version 1, before there were ranges: not left to take room.
TEST_F(TierContainerTest, PartsOfAnotherVersionAreRemoved) {
  Open();
  Stage(1, {Range(0, 10)});
  tier_->Stop();
  ASSERT_EQ(Parts().size(), 1u);
  const std::string part = Parts()[0];
  std::string bytes = testing_support::Slurp(TierPath(part));
  bytes[bytes.size() - kTierFooterBytes + 40] = 1;
  Spill(TierPath(part), bytes);
  plan_ = std::make_shared<SetPlan>();
  Open();
  EXPECT_TRUE(Parts().empty());
  EXPECT_EQ(tier_->status().staged_bytes, 0u);
  EXPECT_EQ(tier_->status().health, "");
}

TEST_F(TierContainerTest, OnlyADamagedRangeIsReadFromTheSource) {
  Tier::Options options = Options();
  options.retry = std::chrono::milliseconds(200);
  Open(options);
  Stage(1, {Range(0, 10), Range(10, 60), Range(60, 70), Range(69, 80)});
  Damage(container_, 59 * kP);
  testing::internal::CaptureStderr();
  const uint64_t before = reads();
  AskPages(0, 80);
  ExpectAllRight();
  EXPECT_EQ(reads(), before + 1);
  EXPECT_EQ(tier_->status().source_bytes, 50 * kP);
  plan_->WaitReady(1, 2);
  Until([&] { return tier_->status().health.empty(); });
  EXPECT_EQ(Count(testing::internal::GetCapturedStderr(), "warning: "), 1);
  AskPages(0, 80);
  ExpectAllRight();
  EXPECT_EQ(tier_->status().source_bytes, 50 * kP);
}

TEST_F(TierContainerTest, ARangeLargerThanABatchIsStagedInPieces) {
  Open();
  Stage(1, {Range(3, 700), Range(700, 801)});
  const uint64_t before = reads();
  AskPages(3, 801);
  AskPages(300, 310);
  AskPages(690, 710);
  ExpectAllRight();
  EXPECT_EQ(reads(), before);
  EXPECT_EQ(tier_->status().copied_bytes, kSize - 3 * kP);
}

// The file is another one by now: no range of it can be staged, and readers get
// the error once.
TEST_F(TierContainerTest, AnErrorOfTheSourceEndsAPieceOnce) {
  Open();
  Stage(1, {Range(0, 10)});
  Spill(tree_.At("container"), "another");
  Stage(2, {Range(0, 10), Range(10, 20)});
  AskPages(0, 10);
  ExpectAllRight();
  Asked& asked = AskPages(0, 30);
  EXPECT_EQ(ErrnoOf(asked.Wait()), ESTALE);
  EXPECT_EQ(asked.calls(), 1);
  asked_.clear();
  EXPECT_EQ(tier_->status().health, "");
}

// Sets of another run, or of another policy, cut the file elsewhere.
TEST_F(TierContainerTest, RangesThatOverlapAnyhow) {
  Open();
  Stage(1, {{container_, 0, kSize}});
  EXPECT_TRUE(tier_->Has(container_));
  const uint64_t before = reads();
  Stage(2, {Range(0, 300), Range(300, 500)});
  EXPECT_EQ(reads(), before);  // that it holds is enough
  Stage(3, {Range(100, 400), Range(350, 450), Range(420, 425)});
  AskPages(0, 801);
  ExpectAllRight();
  Stage(4, {small_});
  EXPECT_FALSE(tier_->Has(Range(100, 101)));
}

}  // namespace
}  // namespace shufflefs
