// SPDX-License-Identifier: Apache-2.0
#include "core/source/dir_rights.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/source/acl_fixture.h"

namespace shufflefs {
namespace {

using testing_support::AclWith;
using testing_support::kUser;
using testing_support::SetAcl;
using testing_support::TempTree;

class DirRightsTest : public ::testing::Test {
 protected:
  DirRightsTest() : source_(tree_.Source()) {
    tree_.Files({"a/b/1", "c/2"});
    Mode("", 0755);
    options_.fresh = DirRights::Duration(0);  // the source is always asked
    options_.patience = DirRights::Duration(20000);
  }
  void Make(bool serves_others) {
    ScanOptions scan;
    scan.serves_others = serves_others;
    catalogue_ = std::make_unique<Catalogue>(tree_.Scanned(scan));
    rights_ = std::make_unique<DirRights>(source_, *catalogue_, options_);
  }
  void Mode(const std::string& path, mode_t mode) {
    ASSERT_EQ(chmod(tree_.At(path).c_str(), mode), 0);
  }
  mode_t ModeOf(const char* path) {
    return rights_->ModeOf(*catalogue_->FindDir(path)) & 0777;
  }

  TempTree tree_;
  SourceDir source_;
  DirRights::Options options_;
  std::unique_ptr<Catalogue> catalogue_;
  std::unique_ptr<DirRights> rights_;
};

TEST_F(DirRightsTest, WhatIsClosedIsClosedAndWhatIsOpenedIsNot) {
  Mode("c", 0750);
  Make(true);
  EXPECT_EQ(ModeOf("a"), 0755u);
  EXPECT_EQ(ModeOf("c"), 0750u);
  const DirId below = *catalogue_->FindDir("a/b");
  EXPECT_TRUE(rights_->AreAsOpenAsKnown({below}));
  Mode("a", 0700);
  Mode("c", 0755);
  EXPECT_EQ(ModeOf("a"), 0700u);
  EXPECT_EQ(ModeOf("c"), 0750u);
  EXPECT_FALSE(rights_->AreAsOpenAsKnown({below}));
  EXPECT_TRUE(rights_->AreAsOpenAsKnown({*catalogue_->FindDir("c")}));
  Mode("a", 0755);
  EXPECT_EQ(ModeOf("a"), 0755u);
}

TEST_F(DirRightsTest, WhatIsGoneOrAnothersIsClosed) {
  Make(true);
  std::filesystem::rename(tree_.At("a/b"), tree_.At("d"));
  EXPECT_EQ(ModeOf("a/b"), 0u);
  tree_.Dir("a/b");
  EXPECT_EQ(ModeOf("a/b"), 0u);  // another one
  if (geteuid() != 0) return;
  const gid_t group = catalogue_->dir_attributes(DirId(0)).gid;
  ASSERT_EQ(chown(tree_.At("c").c_str(), 12345, group), 0);
  EXPECT_EQ(ModeOf("c"), 0u);
  ASSERT_EQ(chown(tree_.At("c").c_str(), 0, group + 1), 0);
  EXPECT_EQ(ModeOf("c"), 0u);
  ASSERT_EQ(chown(tree_.At("c").c_str(), 0, group), 0);
  EXPECT_NE(ModeOf("c"), 0u);
}

TEST_F(DirRightsTest, AListThatClosesIsSeen) {
  Make(true);
  ASSERT_TRUE(SetAcl(tree_.At("a"), AclWith(kUser, 0, 5, 5)));
  EXPECT_EQ(ModeOf("a") & 0055, 0u);
}

TEST_F(DirRightsTest, OneUserAloneIsNotWatched) {
  Make(false);
  EXPECT_FALSE(rights_->are_watched());
  Mode("a", 0700);
  EXPECT_EQ(ModeOf("a"), 0755u);
}

}  // namespace
}  // namespace shufflefs
