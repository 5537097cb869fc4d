// SPDX-License-Identifier: Apache-2.0
#include "core/base/files/dir_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "core/base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"

namespace shufflefs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;
using testing_support::TempTree;

class DirFilesTest : public ::testing::Test {
 protected:
  DirFilesTest() { tree_.Dir("source/deep"); }
  absl::StatusOr<DirFiles> Open(const std::string& path) {
    const UniqueFd source(
        open(tree_.At("source").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    return DirFiles::Open(tree_.At(path), source.get());
  }

  TempTree tree_;
};

TEST_F(DirFilesTest, IsMadeBesideTheSourceButNotInIt) {
  EXPECT_TRUE(Open("fresh").ok());
  EXPECT_TRUE(Open("fresh/").ok());
  EXPECT_EQ(ErrnoOf(Open("missing/fresh").status()), ENOENT);
  tree_.Link("link", "source/deep");
  for (const char* inside :
       {"source", "source/deep", "source/fresh", "link", "link/fresh"}) {
    EXPECT_EQ(Open(inside).status().code(), absl::StatusCode::kInvalidArgument)
        << inside;
  }
  EXPECT_EQ(access(tree_.At("source/fresh").c_str(), F_OK), -1);
}

TEST_F(DirFilesTest, OneProcessHasTheLock) {
  const DirFiles files = *Open("fresh");
  EXPECT_TRUE(files.Lock("taken").ok());
  EXPECT_THAT(std::string(Open("fresh")->Lock("taken").message()),
              HasSubstr("fresh: taken"));
}

TEST_F(DirFilesTest, AFileIsWrittenUnderAnotherNameFirst) {
  const DirFiles files = *Open("fresh");
  {
    const absl::StatusOr<UniqueFd> fd = files.Create("f.tmp", 4096, 0640);
    ASSERT_TRUE(fd.ok()) << fd.status();
    ASSERT_EQ(pwrite(fd->get(), "abc", 3, 0), 3);
  }
  EXPECT_EQ(ErrnoOf(files.Create("f.tmp", 0, 0640).status()), EEXIST);
  EXPECT_THAT(*files.Names(), ElementsAre("f.tmp"));
  EXPECT_TRUE(files.Rename("f.tmp", "f").ok());
  EXPECT_TRUE(files.SyncNames().ok());
  EXPECT_FALSE(files.Stat("f.tmp")->has_value());
  EXPECT_EQ((*files.Stat("f"))->st_size, 4096);
  EXPECT_TRUE(files.OpenFile("f", O_RDONLY).ok());
  EXPECT_TRUE(files.Remove("f").ok());
  EXPECT_TRUE(files.Remove("f").ok());
  EXPECT_EQ(ErrnoOf(files.Rename("f", "g")), ENOENT);
  EXPECT_GT(*files.FreeBytes(), 0u);
}

TEST_F(DirFilesTest, NoLinkAndNoFifoIsOpened) {
  const DirFiles files = *Open("fresh");
  tree_.File("fresh/f");
  tree_.Link("fresh/link", "f");
  tree_.Fifo("fresh/fifo");
  tree_.Dir("fresh/lost+found");
  EXPECT_EQ(ErrnoOf(files.OpenFile("link", O_RDONLY).status()), ELOOP);
  EXPECT_EQ(ErrnoOf(files.OpenFile("fifo", O_RDONLY).status()), EINVAL);
  EXPECT_THAT(*files.Names(), UnorderedElementsAre("f", "link", "fifo"));
}

}  // namespace
}  // namespace shufflefs
