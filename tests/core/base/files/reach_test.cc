// SPDX-License-Identifier: Apache-2.0
#include "core/base/files/reach.h"

#include <errno.h>
#include <fcntl.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "core/base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/file_bytes.h"
#include "tests/core/base/temp_tree.h"

namespace shufflefs {
namespace {

using testing_support::TempTree;

// A directory that gets another one over it. Instead of being mounted over, it
// moves away.
class ReachTest : public ::testing::Test {
 protected:
  ReachTest() {
    tree_.File("data/file", "below");
    tree_.File("data/sub/file", "deep");
    tree_.File("file", "beside");
    tree_.Link("data/sub/up", "../file");
    tree_.Link("data/sub/home", tree_.At("data/file"));
    tree_.Link("data/out", "../file");
    tree_.Link("data/loop", tree_.At("data/loop"));
    tree_.Link("way", "data/sub");
    tree_.Link("loop", "loop");
    tree_.Link("alias", "data");
  }

  void Cover(const std::string& mountpoint) {
    absl::StatusOr<PathReach> reach = ReachBelow(tree_.At(mountpoint));
    ASSERT_TRUE(reach.ok()) << reach.status();
    reach_ = *std::move(reach);
    std::filesystem::rename(tree_.At("data"), tree_.At("moved"));
    tree_.File("data/file", "covers");
    tree_.File("data/sub/file", "covers");
  }
  // "" if nothing is there.
  std::string Read(const std::string& path) const {
    std::ifstream in(reach_(tree_.At(path)), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  TempTree tree_;
  PathReach reach_;
};

TEST_F(ReachTest, WhatIsCoveredIsReached) {
  Cover("data");
  EXPECT_EQ(Read("data/file"), "below");
  EXPECT_EQ(Read("data//sub/./file"), "deep");
  EXPECT_EQ(Read("data/sub/../file"), "below");
  EXPECT_EQ(testing_support::Slurp(reach_(tree_.At("data")) + "/file"),
            "below");
}

TEST_F(ReachTest, LinksLeadToWhatIsCovered) {
  Cover("data");
  EXPECT_EQ(Read("data/sub/up"), "below");
  EXPECT_EQ(Read("data/sub/home"), "below");
  EXPECT_EQ(Read("way/up"), "below");
  EXPECT_EQ(Read("alias/sub/file"), "deep");
  EXPECT_EQ(Read("data/out"), "beside");
}

TEST_F(ReachTest, TheMountpointMayBeNamedByALink) {
  Cover("alias");
  EXPECT_EQ(Read("alias/file"), "below");
  EXPECT_EQ(Read("data/sub/file"), "deep");
}

TEST_F(ReachTest, OtherPathsStay) {
  Cover("data");
  for (const char* path : {"file", "database", "none/x", "loop"}) {
    EXPECT_EQ(reach_(tree_.At(path)), tree_.At(path));
  }
  EXPECT_EQ(reach_(""), "");
  EXPECT_EQ(reach_("data/file"), "data/file");
  EXPECT_EQ(Reached({}, "/x"), "/x");
}

TEST_F(ReachTest, WhatCannotBeReachedIsNotAskedOfTheMount) {
  Cover("data");
  tree_.File("data/new", "covers");
  EXPECT_EQ(Read("data/new"), "");
  const std::string loop = reach_(tree_.At("data/loop"));
  EXPECT_NE(loop, "");
  EXPECT_EQ(open(loop.c_str(), O_RDONLY), -1);
  EXPECT_EQ(errno, ENOTDIR);
}

TEST_F(ReachTest, AMountpointThatIsMissingIsAnError) {
  const absl::StatusOr<PathReach> reach = ReachBelow(tree_.At("none"));
  EXPECT_EQ(ErrnoOf(reach.status()), ENOENT);
}

}  // namespace
}  // namespace shufflefs
