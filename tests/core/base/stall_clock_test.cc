// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <thread>

#include "core/base/metrics.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

constexpr std::chrono::milliseconds kWhile{20};

TEST(StallClockTest, WhoIsServedAtOnceConsumes) {
  StallClock clock;
  clock.Served();
  std::this_thread::sleep_for(kWhile);
  clock.Served();
  EXPECT_EQ(clock.Read().stalled_seconds, 0);
  EXPECT_GE(clock.Read().consumer_seconds, 0.02);
}

TEST(StallClockTest, AWaitAtTheStartDoesNotCountForEver) {
  StallClock clock;
  clock.Enter();
  std::this_thread::sleep_for(kWhile);
  clock.Leave();
  const double stalled = clock.Read().stalled_seconds;
  EXPECT_GE(stalled, 0.02);
  std::this_thread::sleep_for(kWhile);
  clock.Served();
  EXPECT_EQ(clock.Read().stalled_seconds, stalled);
  EXPECT_GE(clock.Read().consumer_seconds, 0.02);
}

TEST(StallClockTest, SeveralThatWaitAreOneStall) {
  StallClock clock;
  clock.Enter();
  clock.Enter();
  std::this_thread::sleep_for(kWhile);
  clock.Leave();
  clock.Leave();
  const StallClock::Times times = clock.Read();
  EXPECT_GE(times.stalled_seconds, 0.02);
  EXPECT_NEAR(times.consumer_seconds, 0, 1e-9);
}

TEST(StallClockTest, NobodyHasReadYet) {
  EXPECT_EQ(StallClock().Read().stalled_seconds, 0);
  EXPECT_EQ(StallClock().Read().consumer_seconds, 0);
}

}  // namespace
}  // namespace shufflefs
