// SPDX-License-Identifier: Apache-2.0
#include "core/view/kernel_notifier.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;

class KernelNotifierTest : public testing::Test {
 protected:
  KernelNotifierTest()
      : notifier_({[this](bool were_fixed) {
                     calls_.push_back(were_fixed ? "fixed" : "rebound");
                     told_meanwhile_ = notifier_.told_all();
                   },
                   [this] { calls_.push_back("settled"); }, nullptr}) {}

  std::vector<std::string> calls_;
  bool told_meanwhile_ = true;
  KernelNotifier notifier_;
};

TEST_F(KernelNotifierTest, TheKernelKnowsOnceItWasTold) {
  EXPECT_TRUE(notifier_.told_all());
  const uint64_t begun = notifier_.Begin();
  EXPECT_FALSE(notifier_.told_all());
  notifier_.Tell(/*were_fixed=*/true, begun);
  EXPECT_TRUE(notifier_.told_all());
  EXPECT_FALSE(told_meanwhile_);
  EXPECT_THAT(calls_, ElementsAre("fixed", "settled"));
  notifier_.Doubt();  // nobody wants to know
}

TEST_F(KernelNotifierTest, WhoComesLateTellsOfNoneButTheLast) {
  const uint64_t first = notifier_.Begin();
  const uint64_t second = notifier_.Begin();
  notifier_.Tell(false, first);
  EXPECT_FALSE(notifier_.told_all());
  notifier_.Tell(false, second);
  notifier_.Tell(false, first);
  EXPECT_TRUE(notifier_.told_all());
}

TEST_F(KernelNotifierTest, OfTheFirstNobodyNeedsToBeTold) {
  notifier_.Begin();
  notifier_.SkipTelling();
  EXPECT_TRUE(notifier_.told_all());
  EXPECT_TRUE(calls_.empty());
}

}  // namespace
}  // namespace shufflefs
