// SPDX-License-Identifier: Apache-2.0
#include "fs/model/reply_types.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "gtest/gtest.h"

namespace shufflefs {
namespace {

TEST(StatOfTest, NobodyMayWriteAFile) {
  FileAttributes file;
  file.mode = S_IFREG | 0777;
  EXPECT_EQ(StatOf(file).st_mode, mode_t{S_IFREG | 0555});
  file.kind = EntryKind::kDirectory;
  file.mode = S_IFDIR | 0777;
  EXPECT_EQ(StatOf(file).st_mode, mode_t{S_IFDIR | 0777});
}

TEST(StatOfTest, TimesBefore1970AreWholeSecondsAndARest) {
  FileAttributes file;
  file.mtime_ns = -1;
  EXPECT_EQ(StatOf(file).st_mtim.tv_sec, -1);
  EXPECT_EQ(StatOf(file).st_mtim.tv_nsec, 999999999);
  file.mtime_ns = 1000000001;
  EXPECT_EQ(StatOf(file).st_mtim.tv_sec, 1);
  EXPECT_EQ(StatOf(file).st_mtim.tv_nsec, 1);
}

// Written through cached pages: "abcdef" from the last bytes of a page on comes
// in two pieces.
TEST(WrittenTextTest, AWriteMayBeCutWhereAPageEnds) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  EXPECT_TRUE((WrittenText{"abc", page - 3}.may_be_cut()));
  EXPECT_FALSE((WrittenText{"abc", page - 4}.may_be_cut()));
  EXPECT_FALSE((WrittenText{"abc", page - 3, true}.may_be_cut()));
  // From the beginning of a page on it is cut by size alone.
  const std::string whole(page, 'x');
  EXPECT_FALSE((WrittenText{whole, 0}.may_be_cut()));
  EXPECT_FALSE((WrittenText{whole, 3 * page}.may_be_cut()));
  // The page was read before.
  EXPECT_FALSE((WrittenText{whole, page - 3}.may_be_cut()));
  EXPECT_TRUE((WrittenText{whole + "abc", page - 3}.may_be_cut()));
}

TEST(SetSizeTest, ABlockThatIsBegunCounts) {
  struct stat st = {};
  SetSize(513, st);
  EXPECT_EQ(st.st_size, 513);
  EXPECT_EQ(st.st_blocks, 2);
}

TEST(SetSizeTest, TheSameSizeKeepsTheSourcesBlocks) {
  struct stat st = {};
  st.st_size = 4096;
  st.st_blocks = 1;  // a file with a hole
  SetSize(4096, st);
  EXPECT_EQ(st.st_blocks, 1);
}

}  // namespace
}  // namespace shufflefs
