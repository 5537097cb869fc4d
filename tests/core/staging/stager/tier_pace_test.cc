// SPDX-License-Identifier: Apache-2.0
// How fast copying goes: by a clock that the test turns.
#include "core/staging/stager/tier_pace.h"

#include <limits>

#include "gtest/gtest.h"

namespace shufflefs {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint64_t kAll = std::numeric_limits<uint64_t>::max();

TEST(TierPaceTest, NothingHoldsItUpWhereNobodyReads) {
  TierPace pace(0);
  TierPace::Time now{seconds(100)};
  pace.Foreground(now, 5);  // before it was looked at
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(pace.Wait(now, true), TierPace::Duration::zero());
    EXPECT_EQ(pace.StepBytes(now, true), kAll);
    pace.Stepped(now, now + seconds(1), 1 << 30);
    now += seconds(1);
    pace.Foreground(now, 5);
  }
}

TEST(TierPaceTest, BesideReadersItTakesFourPercent) {
  TierPace pace(0);
  const TierPace::Time start{seconds(100)};
  TierPace::Time now = start;
  TierPace::Duration busy{};
  uint64_t reads = 0;
  pace.Foreground(now, reads);
  while (now < start + seconds(60)) {
    pace.Foreground(now, ++reads);
    const auto wait = pace.Wait(now, true);
    if (wait > TierPace::Duration::zero()) {
      now += std::min<TierPace::Duration>(wait, milliseconds(50));
      continue;
    }
    EXPECT_EQ(pace.StepBytes(now, true), TierPace::kGentleBytes);
    pace.Stepped(now, now + milliseconds(8), TierPace::kGentleBytes);
    now += milliseconds(8);
    busy += milliseconds(8);
  }
  const double share = std::chrono::duration<double>(busy).count() / 60;
  EXPECT_GT(share, 0.03);
  EXPECT_LE(share, 0.042);
}

TEST(TierPaceTest, WhatIsReadNowDoesNotGiveWay) {
  TierPace pace(0);
  const TierPace::Time now{seconds(100)};
  pace.Foreground(now, 1);
  pace.Foreground(now, 2);
  pace.Stepped(now - seconds(1), now, 1);
  EXPECT_TRUE(pace.GivesWay(now, true));
  EXPECT_GT(pace.Wait(now, true), TierPace::Duration::zero());
  EXPECT_FALSE(pace.GivesWay(now, false));
  EXPECT_EQ(pace.Wait(now, false), TierPace::Duration::zero());
  EXPECT_EQ(pace.StepBytes(now, false), kAll);
}

TEST(TierPaceTest, ItGoesOnWhenReadersAreQuiet) {
  TierPace pace(0);
  const TierPace::Time now{seconds(100)};
  pace.Foreground(now, 1);
  pace.Foreground(now, 2);
  pace.Stepped(now - seconds(10), now, 1);
  EXPECT_TRUE(pace.GivesWay(now + milliseconds(99), true));
  EXPECT_FALSE(pace.GivesWay(now + milliseconds(100), true));
  EXPECT_EQ(pace.Wait(now + milliseconds(100), true),
            TierPace::Duration::zero());
}

TEST(TierPaceTest, BandwidthHoldsOverTime) {
  constexpr uint64_t kBandwidth = 10 << 20;
  TierPace pace(kBandwidth);
  const TierPace::Time start{seconds(100)};
  TierPace::Time now = start;
  uint64_t bytes = 0;
  while (now < start + seconds(20)) {
    now += pace.Wait(now, false);
    const uint64_t step = pace.StepBytes(now, false);
    EXPECT_LE(step, kBandwidth / 8);
    pace.Stepped(now, now + milliseconds(1), step);
    bytes += step;
    now += milliseconds(1);
  }
  EXPECT_NEAR(static_cast<double>(bytes), 20.0 * kBandwidth, 0.3 * kBandwidth);
}

TEST(TierPaceTest, WhatWasNotUsedIsNotSavedUp) {
  TierPace pace(1000);
  const TierPace::Time now{seconds(100)};
  pace.Stepped(now - seconds(60), now - seconds(60), 1);
  pace.Stepped(now, now, 1000);
  EXPECT_EQ(pace.Wait(now, false), seconds(1));
}

TEST(TierPaceTest, CopyingAheadGoesInStepsWhereThatIsAsked) {
  const TierPace pace(0, 1 << 20);
  const TierPace::Time now{};
  EXPECT_EQ(pace.StepBytes(now, /*ahead=*/true), 1u << 20);
  EXPECT_GT(pace.StepBytes(now, /*ahead=*/false), 1u << 30);
}

}  // namespace
}  // namespace shufflefs
