// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/daemon/end_in_time.h"

#include <unistd.h>

#include <memory>

#include "gtest/gtest.h"

namespace shufflefs {
namespace {

constexpr int kOwnStatus = 7;
constexpr int kCalled = 8;

// Ends when the time is over.
void EndLate(bool forget) {
  EndInTime end;
  ASSERT_TRUE(end.Arm().ok());
  auto used = std::make_unique<int>(kCalled);
  end.Begin(kOwnStatus, [&used] { _exit(used == nullptr ? 1 : *used); });
  if (forget) {
    end.ForgetLast();
    used.reset();
  }
  for (;;) pause();
}

TEST(EndInTimeDeathTest, CallsTheLastAndEnds) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(EndLate(false), ::testing::ExitedWithCode(kCalled), "");
}

TEST(EndInTimeDeathTest, WhatIsForgottenIsNotCalledWhenItsObjectIsGone) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(EndLate(true), ::testing::ExitedWithCode(kOwnStatus),
              "is not done with its end");
}

TEST(EndInTimeTest, WithoutAnEndItDoesNothing) {
  EndInTime end;
  ASSERT_TRUE(end.Arm().ok());
}

}  // namespace
}  // namespace shufflefs
