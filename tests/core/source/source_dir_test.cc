// SPDX-License-Identifier: Apache-2.0
#include "core/source/source_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "core/base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"

namespace shufflefs {
namespace {

using testing_support::TempTree;

int ErrorOf(const absl::Status& status) { return ErrnoOf(status).value_or(0); }

std::string Read(int fd) {
  std::string text(4096, '\0');
  ssize_t got = read(fd, text.data(), text.size());
  text.resize(got < 0 ? 0 : static_cast<size_t>(got));
  return text;
}

class SourceDirTest : public ::testing::TestWithParam<SourceDir::Lookup> {
 protected:
  SourceDir Make() {
    absl::StatusOr<SourceDir> dir = SourceDir::At(tree_.root(), GetParam());
    EXPECT_TRUE(dir.ok()) << dir.status();
    return *std::move(dir);
  }
  TempTree tree_;
};

INSTANTIATE_TEST_SUITE_P(Lookups, SourceDirTest,
                         ::testing::Values(SourceDir::Lookup::kKernel,
                                           SourceDir::Lookup::kComponents),
                         [](const auto& info) {
                           return info.param == SourceDir::Lookup::kKernel
                                      ? "Kernel"
                                      : "Components";
                         });

TEST_P(SourceDirTest, ReadsFilesAtAnyDepth) {
  tree_.File("top", "one");
  tree_.File("a/b/c", "two");
  SourceDir dir = Make();
  EXPECT_EQ(Read(dir.Open("top", O_RDONLY)->get()), "one");
  EXPECT_EQ(Read(dir.Open("a/b/c", O_RDONLY)->get()), "two");
  EXPECT_TRUE(dir.Open("", O_DIRECTORY).ok());
  EXPECT_TRUE(dir.Open("a/b", O_DIRECTORY).ok());
  EXPECT_TRUE(dir.Open("a/b", O_PATH).ok());
  EXPECT_EQ(dir.Stat("a/b/c")->st_size, 3);
  EXPECT_TRUE(S_ISDIR(dir.Stat("")->st_mode));
}

TEST_P(SourceDirTest, SetsTheFlagsThatKeepTheDaemonSafe) {
  tree_.File("f");
  UniqueFd fd = *Make().Open("f", O_RDONLY);
  EXPECT_EQ(fcntl(fd.get(), F_GETFD), FD_CLOEXEC);
  EXPECT_NE(fcntl(fd.get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(fcntl(fd.get(), F_GETFL) & O_NOATIME, 0);
}

TEST_P(SourceDirTest, RefusesToWrite) {
  tree_.File("f", "kept");
  SourceDir dir = Make();
  for (int flags : {O_WRONLY, O_RDWR, O_RDONLY | O_TRUNC, O_RDONLY | O_CREAT}) {
    EXPECT_EQ(ErrorOf(dir.Open("f", flags).status()), EROFS) << flags;
  }
  EXPECT_EQ(ErrorOf(dir.Open("", O_TMPFILE | O_RDWR).status()), EROFS);
  EXPECT_EQ(dir.Stat("f")->st_size, 4);
}

TEST_P(SourceDirTest, RefusesPathsThatAreNotTheCataloguesOwn) {
  tree_.File("a/f");
  SourceDir dir = Make();
  for (const std::string& path :
       {std::string("/etc/passwd"), std::string(".."), std::string("a/../a/f"),
        std::string("."), std::string("a//f"), std::string("a/"),
        std::string("a/./f"), std::string("a\0f", 3)}) {
    EXPECT_EQ(ErrorOf(dir.Open(path, O_RDONLY).status()), EINVAL) << path;
    EXPECT_EQ(ErrorOf(dir.Stat(path).status()), EINVAL) << path;
    EXPECT_EQ(ErrorOf(dir.ReadLink(path).status()), EINVAL) << path;
  }
}

TEST_P(SourceDirTest, NeverFollowsALink) {
  tree_.File("real/f");
  tree_.Link("to_file", "real/f");
  tree_.Link("to_dir", "real");
  tree_.Link("out", "/");
  tree_.Link("dangling", "nowhere");
  tree_.Link("real/up", "..");
  SourceDir dir = Make();
  for (const char* path : {"to_file", "to_dir", "out", "dangling", "to_dir/f",
                           "out/etc", "real/up/real/f"}) {
    EXPECT_EQ(ErrorOf(dir.Open(path, O_RDONLY).status()), ELOOP) << path;
  }
  EXPECT_EQ(ErrorOf(dir.Open("to_dir", O_DIRECTORY).status()), ELOOP);
  EXPECT_EQ(ErrorOf(dir.Stat("to_dir/f").status()), ELOOP);
  EXPECT_TRUE(S_ISLNK(dir.Stat("dangling")->st_mode));
  EXPECT_EQ(dir.ReadLink("dangling")->target, "nowhere");
  EXPECT_EQ(dir.ReadLink("real/up")->target, "..");
  EXPECT_EQ(ErrorOf(dir.ReadLink("real/f").status()), EINVAL);
}

TEST_P(SourceDirTest, NamesTheError) {
  tree_.File("f");
  SourceDir dir = Make();
  absl::Status missing = dir.Open("gone", O_RDONLY).status();
  EXPECT_EQ(ErrorOf(missing), ENOENT);
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), ::testing::HasSubstr("gone"));
  EXPECT_EQ(ErrorOf(dir.Open("f/below", O_RDONLY).status()), ENOTDIR);
  EXPECT_EQ(ErrorOf(dir.Stat("f/below").status()), ENOTDIR);
}

TEST_P(SourceDirTest, AFifoWithoutAWriterDoesNotHang) {
  tree_.Fifo("pipe");
  EXPECT_TRUE(Make().Open("pipe", O_RDONLY).ok());
}

// 40 levels of 200 bytes are more than one system call takes.
TEST_P(SourceDirTest, ReachesPathsLongerThanPathMax) {
  std::string deep;
  UniqueFd at(open(tree_.root().c_str(), O_RDONLY | O_DIRECTORY));
  for (int level = 0; level < 40; ++level) {
    std::string name(200, static_cast<char>('a' + level % 26));
    ASSERT_EQ(mkdirat(at.get(), name.c_str(), 0755), 0);
    at = UniqueFd(openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY));
    deep += name + "/";
  }
  UniqueFd file(openat(at.get(), "f", O_CREAT | O_WRONLY, 0644));
  ASSERT_EQ(write(file.get(), "deep", 4), 4);
  ASSERT_EQ(symlinkat("f", at.get(), "l"), 0);
  ASSERT_GT(deep.size(), 8000u);
  SourceDir dir = Make();
  EXPECT_EQ(Read(dir.Open(deep + "f", O_RDONLY)->get()), "deep");
  EXPECT_EQ(dir.Stat(deep + "f")->st_size, 4);
  EXPECT_EQ(dir.ReadLink(deep + "l")->target, "f");
  EXPECT_EQ(ErrorOf(dir.Open(deep + "gone", O_RDONLY).status()), ENOENT);
}

TEST_P(SourceDirTest, AnyBytesInNames) {
  std::string name = "sp ace\n\xff\xfe\t\"'\\";
  tree_.File(name, "odd");
  EXPECT_EQ(Read(Make().Open(name, O_RDONLY)->get()), "odd");
}

TEST(SourceDirAtTest, NeedsADirectory) {
  TempTree tree;
  tree.File("f");
  EXPECT_EQ(ErrorOf(SourceDir::At(tree.At("f")).status()), ENOTDIR);
  EXPECT_EQ(ErrorOf(SourceDir::At(tree.At("gone")).status()), ENOENT);
}

TEST(SourceDirAtTest, KeepsItsDirectoryWhenThePathGoesElsewhere) {
  TempTree tree;
  tree.File("source/f", "old");
  SourceDir dir = *SourceDir::At(tree.At("source"));
  std::filesystem::rename(tree.At("source"), tree.At("moved"));
  tree.File("source/f", "new");
  EXPECT_EQ(Read(dir.Open("f", O_RDONLY)->get()), "old");
}

}  // namespace
}  // namespace shufflefs
