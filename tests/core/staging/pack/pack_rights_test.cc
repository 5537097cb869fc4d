// SPDX-License-Identifier: Apache-2.0
// Whoever may not read a file of the source may not read it in a pack either.
#include "core/staging/pack/pack_rights.h"

#include <filesystem>
#include <string>

#include "core/scan/scan.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/source/acl_fixture.h"

namespace shufflefs {
namespace {

namespace fs = std::filesystem;
using testing_support::AclWith;
using testing_support::kUser;
using testing_support::SetAcl;
using testing_support::TempTree;

class PackRightsTest : public ::testing::Test {
 protected:
  PackRightsTest() {
    tree_.Files({"home/data/a/1", "home/data/a/2", "home/data/b/3"});
    for (const char* dir :
         {"", "home", "home/data", "home/data/a", "home/data/b"}) {
      Chmod(dir, 0755);
    }
    for (const char* file : {"a/1", "a/2", "b/3"}) {
      Chmod(std::string("home/data/") + file, 0644);
    }
    open_ = Mode();
  }
  void Chmod(const std::string& path, int mode) const {
    fs::permissions(tree_.At(path), fs::perms(mode));
  }
  // Where the tests run may be a private place. Then nothing is open.
  mode_t Open() const { return open_; }
  // Of a pack of the files 1 and 2.
  mode_t Mode() const {
    const SourceDir source = *SourceDir::At(tree_.At("home/data"));
    const Catalogue catalogue = *Scan(source, ScanOptions());
    const EntryId files[] = {*catalogue.FindPath("a/1"),
                             *catalogue.FindPath("a/2")};
    return PackModeOf(source, catalogue, files, /*threads=*/2);
  }

  TempTree tree_;
  mode_t open_ = 0;
};

TEST_F(PackRightsTest, DirectoriesAboveTheSourceCount) {
  Chmod("home", 0700);
  EXPECT_EQ(Mode(), 0600u);
  Chmod("home", 0711);
  EXPECT_EQ(Mode(), Open());
}

TEST_F(PackRightsTest, EachDirectoryAndFileOfThePackCounts) {
  for (const char* dir : {"home/data", "home/data/a"}) {
    Chmod(dir, 0750);
    EXPECT_EQ(Mode(), 0600u) << dir;
    Chmod(dir, 0755);
  }
  for (const int mode : {0640, 0604}) {
    Chmod("home/data/a/2", mode);
    EXPECT_EQ(Mode(), 0600u) << mode;
  }
  Chmod("home/data/a/2", 0644);
  Chmod("home/data/b/3", 0600);
  Chmod("home/data/b", 0700);
  EXPECT_EQ(Mode(), Open()) << "not in the pack";
}

TEST_F(PackRightsTest, ListsCount) {
  const std::string denied = AclWith(kUser, 0, 5, 5);
  const std::string allowed = AclWith(kUser, 5, 5, 5);
  if (!SetAcl(tree_.At("home"), denied)) return;  // there are no lists
  EXPECT_EQ(Mode(), 0600u);
  ASSERT_TRUE(SetAcl(tree_.At("home"), allowed));
  EXPECT_EQ(Mode(), Open());
  for (const char* path : {"home/data", "home/data/a", "home/data/a/1"}) {
    ASSERT_TRUE(SetAcl(tree_.At(path), denied));
    EXPECT_EQ(Mode(), 0600u) << path;
    ASSERT_TRUE(SetAcl(tree_.At(path), allowed));
    EXPECT_EQ(Mode(), Open()) << path;
  }
}

}  // namespace
}  // namespace shufflefs
