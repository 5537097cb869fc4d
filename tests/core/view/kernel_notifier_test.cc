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
                     notified_meanwhile_ = notifier_.notified();
                   },
                   [this] { calls_.push_back("committed"); }, nullptr}) {}

  std::vector<std::string> calls_;
  bool notified_meanwhile_ = true;
  KernelNotifier notifier_;
};

TEST_F(KernelNotifierTest, TheKernelKnowsOnceItWasTold) {
  EXPECT_TRUE(notifier_.notified());
  const uint64_t begun = notifier_.Begin();
  EXPECT_FALSE(notifier_.notified());
  notifier_.Notify(/*were_fixed=*/true, begun);
  EXPECT_TRUE(notifier_.notified());
  EXPECT_FALSE(notified_meanwhile_);
  EXPECT_THAT(calls_, ElementsAre("fixed", "committed"));
  notifier_.Doubt();  // nobody wants to know
}

TEST_F(KernelNotifierTest, WhoComesLateTellsOfNoneButTheLast) {
  const uint64_t first = notifier_.Begin();
  const uint64_t second = notifier_.Begin();
  notifier_.Notify(false, first);
  EXPECT_FALSE(notifier_.notified());
  notifier_.Notify(false, second);
  notifier_.Notify(false, first);
  EXPECT_TRUE(notifier_.notified());
}

TEST_F(KernelNotifierTest, OfTheFirstNobodyNeedsToBeTold) {
  notifier_.Begin();
  notifier_.SkipNotifying();
  EXPECT_TRUE(notifier_.notified());
  EXPECT_TRUE(calls_.empty());
}

}  // namespace
}  // namespace shufflefs
