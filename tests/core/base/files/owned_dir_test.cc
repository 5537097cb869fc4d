// SPDX-License-Identifier: Apache-2.0
#include "core/base/files/owned_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/base/files/atomic_file.h"
#include "core/base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"

namespace shufflefs {
namespace {

using ::testing::HasSubstr;
using testing_support::TempTree;

constexpr uid_t kStranger = 65534;

class OwnedDirTest : public ::testing::Test {
 protected:
  void Mode(const std::string& path, mode_t mode) {
    ASSERT_EQ(chmod(tree_.At(path).c_str(), mode), 0);
  }
  void GiveAway(const std::string& path) {
    ASSERT_EQ(lchown(tree_.At(path).c_str(), kStranger, kStranger), 0);
  }
  mode_t ModeOf(const std::string& path) {
    struct stat st = {};
    EXPECT_EQ(stat(tree_.At(path).c_str(), &st), 0);
    return st.st_mode & 07777;
  }
  absl::Status Make(const std::string& path) {
    return OwnedDir::Make(tree_.At(path)).status();
  }
  absl::Status Trusted(const std::string& path) {
    return OpenTrustedFile(tree_.At(path)).status();
  }
  void ExpectRefused(const std::string& path, const std::string& step) {
    const absl::Status status = Make(path);
    EXPECT_EQ(ErrnoOf(status), EPERM) << status;
    EXPECT_THAT(status.message(), HasSubstr(tree_.At(step) + ":"));
  }

  TempTree tree_;
};

TEST_F(OwnedDirTest, WhatIsMissingIsMadeForUsAlone) {
  const auto dir = OwnedDir::Make(tree_.At("a//b/./c/"));
  ASSERT_TRUE(dir.ok()) << dir.status();
  EXPECT_EQ(dir->path(), tree_.At("a//b/./c/"));
  for (const char* path : {"a", "a/b", "a/b/c"}) {
    EXPECT_EQ(ModeOf(path), 0700u) << path;
  }
  ASSERT_TRUE(dir->Sub("d").ok());
  EXPECT_EQ(ModeOf("a/b/c/d"), 0700u);
  EXPECT_TRUE(Make("a/b/c").ok());  // again
  EXPECT_TRUE(Make("a/../a/b").ok());
}

TEST_F(OwnedDirTest, ADirectoryThatOthersMayWriteIsRefused) {
  tree_.Dir("state");
  for (const mode_t mode : {0777, 01777, 0770, 0720, 0702}) {
    Mode("state", mode);
    ExpectRefused("state", "state");
  }
  for (const mode_t mode : {0755, 0700, 0711}) {
    Mode("state", mode);
    EXPECT_TRUE(Make("state").ok()) << mode;
  }
  tree_.File("file");
  EXPECT_EQ(ErrnoOf(Make("file")), ENOTDIR);
  EXPECT_EQ(ErrnoOf(Make("file/below")), ENOTDIR);
}

TEST_F(OwnedDirTest, SoIsOneBelowADirectoryThatOthersMayWrite) {
  tree_.Dir("open/state");
  Mode("", 0755);
  Mode("open", 0777);
  ExpectRefused("open/state", "open");
  ExpectRefused("open/new", "open");
  EXPECT_FALSE(std::filesystem::exists(tree_.At("open/new")));
  Mode("open", 0770);  // a group
  ExpectRefused("open/state", "open");
  // As /tmp: nobody can rename or remove what is ours.
  Mode("open", 01777);
  EXPECT_TRUE(Make("open/state").ok());
  EXPECT_TRUE(Make("open/new/state").ok());
  // As ~/.local where new files are the group's, too: nobody gets there.
  Mode("open", 0775);
  Mode("", 0700);
  EXPECT_TRUE(Make("open/state").ok());
}

TEST_F(OwnedDirTest, TheDirectoryItselfIsNoLink) {
  tree_.Dir("real");
  tree_.Link("link", "real");
  EXPECT_EQ(ErrnoOf(Make("link")), ELOOP);
  EXPECT_EQ(ErrnoOf(Make("link/")), ELOOP);
  const auto real = OwnedDir::Make(tree_.root());
  ASSERT_TRUE(real.ok());
  EXPECT_THAT(ErrnoOf(real->Sub("link").status()),
              ::testing::AnyOf(ELOOP, ENOTDIR));
  // Links of ours above it are as good as directories of ours.
  EXPECT_TRUE(Make("link/state").ok());
  EXPECT_TRUE(std::filesystem::is_directory(tree_.At("real/state")));
  tree_.Link("round", "round");
  EXPECT_EQ(ErrnoOf(Make("round/state")), ELOOP);
}

TEST_F(OwnedDirTest, WhatBelongsToSomebodyElseIsRefused) {
  if (geteuid() != 0) return;  // only root can give files away
  tree_.Dir("theirs/state");
  GiveAway("theirs");
  ExpectRefused("theirs/state", "theirs");
  ExpectRefused("theirs/new", "theirs");
  ExpectRefused("theirs", "theirs");
  EXPECT_FALSE(std::filesystem::exists(tree_.At("theirs/new")));
  // In a place like /tmp they may have been there first.
  tree_.Dir("tmp/state");
  Mode("tmp", 01777);
  GiveAway("tmp/state");
  ExpectRefused("tmp/state", "tmp/state");
  ExpectRefused("tmp/state/below", "tmp/state");
  tree_.Dir("ours");
  tree_.Link("tmp/link", tree_.At("ours"));
  GiveAway("tmp/link");
  ExpectRefused("tmp/link/state", "tmp/link");
  EXPECT_TRUE(std::filesystem::is_empty(tree_.At("ours")));
}

TEST_F(OwnedDirTest, ATrustedFileIsOpenedAndNothingIsMade) {
  tree_.File("a/b/module", "bytes");
  tree_.Dir("a/program");
  tree_.Link("a/link", "b/module");
  for (const char* path : {"a/b/module", "a/program/../b/module", "a/link"}) {
    const auto fd = OpenTrustedFile(tree_.At(path));
    ASSERT_TRUE(fd.ok()) << fd.status();
    char text[8] = {};
    EXPECT_EQ(read(fd->get(), text, sizeof text), 5);
    EXPECT_EQ(std::string(text), "bytes");
  }
  EXPECT_EQ(ErrnoOf(Trusted("a/new/module")), ENOENT);
  EXPECT_FALSE(std::filesystem::exists(tree_.At("a/new")));
  EXPECT_EQ(ErrnoOf(Trusted("a/b")), EINVAL);
  EXPECT_EQ(ErrnoOf(Trusted("a/b/..")), EINVAL);
}

TEST_F(OwnedDirTest, AFileThatOthersMayHavePutThereIsNotTrusted) {
  Mode("", 0755);  // so that others can reach it
  tree_.File("a/b/module", "bytes");
  tree_.Dir("a/program");
  const char* const path = "a/program/../b/module";
  for (const char* step : {"a", "a/program", "a/b", "a/b/module"}) {
    const mode_t mode = ModeOf(step);
    Mode(step, mode | 0002);
    EXPECT_EQ(ErrnoOf(Trusted(path)), EPERM) << step;
    Mode(step, mode);
    EXPECT_TRUE(Trusted(path).ok()) << step << ": " << Trusted(path);
  }
  if (geteuid() != 0) return;  // only root can give files away
  for (const char* step : {"a", "a/program", "a/b", "a/b/module"}) {
    GiveAway(step);
    EXPECT_EQ(ErrnoOf(Trusted(path)), EPERM) << step;
    EXPECT_TRUE(OpenTrustedFile(tree_.At(path), kStranger).ok()) << step;
    ASSERT_EQ(chown(tree_.At(step).c_str(), 0, 0), 0);
  }
  // In a place like /tmp others may plant a directory, but replace none.
  Mode("a", 01777);
  EXPECT_TRUE(Trusted(path).ok()) << Trusted(path);
  GiveAway("a/b");
  EXPECT_EQ(ErrnoOf(Trusted(path)), EPERM);
}

TEST_F(OwnedDirTest, FilesAreThoseOfTheDirectoryThatIsHeld) {
  const auto dir = OwnedDir::Make(tree_.At("state"));
  ASSERT_TRUE(dir.ok());
  const FilePlace place(*dir, "file");
  EXPECT_EQ(place.path(), tree_.At("state/file"));
  ASSERT_TRUE(ReplaceFile(place, {"one"}).ok());
  std::filesystem::rename(tree_.At("state"), tree_.At("moved"));
  tree_.File("state/file", "two");
  EXPECT_EQ(*ReadWholeFile(place, 100), "one");
  ASSERT_TRUE(ReplaceFile(place, {"three"}).ok());
  EXPECT_EQ(*ReadWholeFile(tree_.At("moved/file"), 100), "three");
  EXPECT_TRUE(place.Remove().ok());
  EXPECT_TRUE(place.Remove().ok());
  EXPECT_EQ(ErrnoOf(ReadWholeFile(place, 100).status()), ENOENT);
  EXPECT_TRUE(std::filesystem::exists(tree_.At("state/file")));
}

TEST_F(OwnedDirTest, NoFileInItIsALink) {
  const auto dir = OwnedDir::Make(tree_.At("state"));
  ASSERT_TRUE(dir.ok());
  tree_.File("secret", "secret");
  tree_.Link("state/link", "../secret");
  tree_.Link("state/dangling", "../made");
  tree_.Fifo("state/fifo");
  EXPECT_EQ(ErrnoOf(FilePlace(*dir, "link").Open(O_RDWR | O_CREAT).status()),
            ELOOP);
  EXPECT_EQ(
      ErrnoOf(FilePlace(*dir, "dangling").Open(O_RDWR | O_CREAT).status()),
      ELOOP);
  EXPECT_FALSE(std::filesystem::exists(tree_.At("made")));
  EXPECT_EQ(FilePlace(*dir, "fifo").Open(O_RDWR).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(*ReadWholeFile(tree_.At("secret"), 100), "secret");
}

TEST_F(OwnedDirTest, NorIsItSomebodyElses) {
  if (geteuid() != 0) return;  // only root can give files away
  const auto dir = OwnedDir::Make(tree_.At("state"));
  ASSERT_TRUE(dir.ok());
  tree_.File("state/theirs");
  GiveAway("state/theirs");
  EXPECT_EQ(ErrnoOf(FilePlace(*dir, "theirs").Open(O_RDONLY).status()), EPERM);
}

}  // namespace
}  // namespace shufflefs
