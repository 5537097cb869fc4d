// SPDX-License-Identifier: Apache-2.0
#include "core/source/cached_read.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "core/base/files/unique_fd.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

constexpr uint64_t kBytes = 100000;

// A file whose pages are on the device and, first, in the cache as well.
class CachedReadTest : public ::testing::Test {
 protected:
  CachedReadTest() {
    std::string path = ::testing::TempDir() + "/cached_read_XXXXXX";
    file_ = UniqueFd(mkstemp(path.data()));
    unlink(path.c_str());
    for (uint64_t i = 0; i < kBytes; ++i) content_ += char('a' + i % 23);
    EXPECT_EQ(write(file_.get(), content_.data(), kBytes), ssize_t{kBytes});
    EXPECT_EQ(fsync(file_.get()), 0);
  }

  bool Read(uint64_t offset, uint64_t length) {
    // Two pieces, as an arena hands them out.
    first_.assign(4096, '?');
    second_.assign(2 * kBytes, '?');
    const std::vector<iovec> into = {{first_.data(), first_.size()},
                                     {second_.data(), second_.size()}};
    return ReadIfCached(file_.get(), into, offset, length);
  }
  std::string Got(uint64_t length) const {
    return (first_ + second_).substr(0, length);
  }

  UniqueFd file_;
  std::string content_;
  std::string first_;
  std::string second_;
};

// Linux 6.5 can tell; before, nothing is taken for cached.
bool KernelTells(int fd) {
  uint64_t range[2] = {0, 0};
  uint64_t stat[5];
  return syscall(451, fd, range, stat, 0) == 0;
}

TEST_F(CachedReadTest, WhatIsCachedIsRead) {
  const bool tells = KernelTells(file_.get());
  for (const uint64_t offset : {0, 4096, 12288}) {
    for (const uint64_t length : {1, 4096, 5000, 60000}) {
      ASSERT_EQ(Read(offset, length), tells) << offset << " " << length;
      if (!tells) continue;
      EXPECT_EQ(Got(length), content_.substr(offset, length));
      EXPECT_EQ(Got(length + 1).back(), '?') << "no byte more";
    }
  }
}

TEST_F(CachedReadTest, NothingIsReadBehindTheEnd) {
  EXPECT_FALSE(Read(0, kBytes + 1));
  EXPECT_FALSE(Read(kBytes + 4096, 1));
  EXPECT_FALSE(Read(0, 0));
}

TEST_F(CachedReadTest, WhatIsNotCachedIsLeftToOthers) {
  ASSERT_EQ(posix_fadvise(file_.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
  // A file system in memory keeps it all the same.
  const bool kept = Read(0, kBytes);
  if (kept) EXPECT_EQ(Got(kBytes), content_);
  EXPECT_EQ(Read(0, kBytes), kept) << "nor fetched by the first try";
}

}  // namespace
}  // namespace shufflefs
