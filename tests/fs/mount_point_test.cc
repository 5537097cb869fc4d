// SPDX-License-Identifier: Apache-2.0
// What becomes of mounts that a dead daemon left.
#include "fs/fuse/mount_point.h"

#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"

namespace shufflefs {
namespace {

// Its daemon ended between the look and the call.
TEST(DetachMountTest, AMountThatHasGoneMeanwhileIsNoError) {
  const testing_support::TempTree tree;
  EXPECT_TRUE(DetachMount(tree.root()).ok());
}

TEST(AskMountTest, AnOrdinaryDirectoryIsNotDead) {
  const testing_support::TempTree tree;
  EXPECT_EQ(AskMount(tree.root(), kPatience), MountState::kAnswers);
  EXPECT_NE(AskMount(tree.At("absent"), kPatience), MountState::kDead);
}

}  // namespace
}  // namespace shufflefs
