// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/config/paths.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/mount-tools/temp_dir.h"

namespace shufflefs {
namespace {

TEST(Paths, AbsoluteIsLexical) {
  EXPECT_EQ(AbsolutePath("a", "/base"), "/base/a");
  EXPECT_EQ(AbsolutePath("/a", "/base"), "/a");
  EXPECT_EQ(AbsolutePath("", "/base"), "/base");
  EXPECT_EQ(AbsolutePath(".", "/base/"), "/base");
  EXPECT_EQ(AbsolutePath("..", "/base"), "/");
  EXPECT_EQ(AbsolutePath("../../../x", "/base"), "/x");
  EXPECT_EQ(AbsolutePath("/a//b/./c/../d/", "/"), "/a/b/d");
  EXPECT_EQ(AbsolutePath("/no/such/place/..", "/"), "/no/such");
}

// They come here where no shell replaces them: in a file, or behind a comma.
TEST(Paths, OnesOfTheHomeDirectoryAreRefused) {
  EXPECT_EQ(RefuseHome("~/x").message(),
            "~/x: ~ is not replaced here; write the whole path");
  EXPECT_FALSE(RefuseHome("~").ok());
  for (const char* other : {"", "/~/x", "./~/x", "~x", "a/~", "x~/"}) {
    EXPECT_TRUE(RefuseHome(other).ok()) << other;
  }
}

TEST(Paths, DirNames) {
  EXPECT_EQ(DirName("/a/b"), "/a");
  EXPECT_EQ(DirName("/a"), "/");
  EXPECT_EQ(DirName("a"), ".");
}

TEST(Paths, WorkingDirectoryIsAbsolute) {
  const absl::StatusOr<std::string> path = WorkingDirectory();
  ASSERT_TRUE(path.ok()) << path.status();
  EXPECT_EQ(path->front(), '/');
}

// A relative path is then one that does not exist, and no other directory's.
TEST(Paths, AWorkingDirectoryThatWasDeletedHasAName) {
  const auto before = std::filesystem::current_path();
  const TempDir dir;
  const auto gone = std::filesystem::canonical(dir.path()) / "gone";
  std::filesystem::create_directory(gone);
  std::filesystem::current_path(gone);
  std::filesystem::remove(gone);
  const absl::StatusOr<std::string> path = WorkingDirectory();
  std::filesystem::current_path(before);
  ASSERT_TRUE(path.ok()) << path.status();
  EXPECT_EQ(*path, gone.string() + " (deleted)");
}

}  // namespace
}  // namespace shufflefs
