// SPDX-License-Identifier: Apache-2.0
// What a kernel or a device may answer to a read, which no test can make one
// answer: the test plays it.
#include "core/io/read_job.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <climits>
#include <string>

#include "core/source/file_check.h"
#include "core/source/posix_acl.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/io/reader_fixture.h"
#include "tests/core/source/acl_fixture.h"

namespace shufflefs {
namespace {

using ::testing::HasSubstr;
using testing_support::AclWith;
using testing_support::AttributesOf;
using testing_support::ErrorOf;
using testing_support::kUser;
using testing_support::Results;
using testing_support::TempTree;
using Step = ReadJob::Step;

constexpr int kRwfDontCache = 0x80;

class ReadJobTest : public ::testing::Test {
 protected:
  ReadJobTest() { tree_.File("f", std::string(20000, 'a')); }

  UniqueFd Open() {
    UniqueFd fd(open(tree_.At("f").c_str(), O_RDONLY | O_NONBLOCK));
    EXPECT_TRUE(fd.valid());
    return fd;
  }
  FileRead Expecting() {
    FileRead read = results_.Read(0, "f", 20000);
    read.expected = AttributesOf(tree_.At("f"));
    return read;
  }
  static uint64_t Wanted(const ReadJob& job) {
    uint64_t wanted = 0;
    for (const iovec& piece : job.pieces()) wanted += piece.iov_len;
    return wanted;
  }
  static bool IsDirect(const ReadJob& job) {
    return (fcntl(job.fd(), F_GETFL) & O_DIRECT) != 0;
  }

  // What a first read of many lends to the next ones.
  std::shared_ptr<const OpenFile> Lent() {
    ReadJob job(OneOfMany(), &systems_, {});
    EXPECT_TRUE(job.takes_open_file());
    job.Begin();
    job.Opened(Open());
    job.ReadEnded(20000);
    EXPECT_EQ(job.LookNow(source_), Step::kEnd);
    EXPECT_TRUE(job.may_lend());
    return std::make_shared<const OpenFile>(job.TakeFile());
  }
  FileRead OneOfMany() {
    FileRead read = Expecting();
    read.one_of_many = true;
    return read;
  }

  TempTree tree_;
  SourceDir source_ = tree_.Source();
  Results results_;
  FileSystems systems_;
};

TEST_F(ReadJobTest, AsksForWholeBlocksAndGoesOnWhereItStopped) {
  ReadJob job(Expecting(), &systems_, {});
  ASSERT_EQ(job.Begin(), Step::kOpen);
  ASSERT_EQ(job.Opened(Open()), Step::kRead);
  EXPECT_TRUE(IsDirect(job));
  EXPECT_EQ(fcntl(job.fd(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_EQ(job.flags(), 0);
  EXPECT_EQ(Wanted(job), 20480u);
  ASSERT_EQ(job.ReadEnded(-EINTR), Step::kRead);
  ASSERT_EQ(job.ReadEnded(8192), Step::kRead);
  EXPECT_EQ(job.offset(), 8192u);
  EXPECT_EQ(Wanted(job), 12288u);
  ASSERT_EQ(job.ReadEnded(11808), Step::kLook);
  ASSERT_EQ(job.LookNow(source_), Step::kEnd);
  EXPECT_TRUE(job.status().ok()) << job.status();
  EXPECT_EQ(job.got(), 20000u);
}

// A piece that does not end at a block: the rest comes through the page cache,
// which alone reads from there on.
TEST_F(ReadJobTest, LeavesDirectReadsAfterAnOddPiece) {
  ReadJob job(Expecting(), &systems_, {});
  job.Begin();
  ASSERT_EQ(job.Opened(Open()), Step::kRead);
  ASSERT_EQ(job.ReadEnded(5000), Step::kRead);
  EXPECT_FALSE(IsDirect(job));
  EXPECT_EQ(job.offset(), 5000u);
  EXPECT_EQ(Wanted(job), 15000u);
  ASSERT_EQ(job.ReadEnded(0), Step::kLook);
  ASSERT_EQ(job.LookNow(source_), Step::kEnd);
  EXPECT_EQ(ErrorOf(job.status()), EIO);
  EXPECT_THAT(std::string(job.status().message()),
              HasSubstr("f: ends early, at byte 5000"));
}

TEST_F(ReadJobTest, RemembersThatAFileSystemRefusesDirectReads) {
  ReadJob first(Expecting(), &systems_, {});
  first.Begin();
  ASSERT_EQ(first.Opened(Open()), Step::kRead);
  ASSERT_EQ(first.ReadEnded(-EINVAL), Step::kRead);
  EXPECT_FALSE(IsDirect(first));
  EXPECT_EQ(first.flags(), kRwfDontCache);
  EXPECT_EQ(Wanted(first), 20000u);
  ReadJob second(Expecting(), &systems_, {});
  second.Begin();
  ASSERT_EQ(second.Opened(Open()), Step::kRead);
  EXPECT_FALSE(IsDirect(second));
}

TEST_F(ReadJobTest, RemembersThatAFileSystemDoesNotDropBehind) {
  for (int error : {EOPNOTSUPP, EINVAL}) {
    FileSystems systems;
    ReadJob first(Expecting(), &systems, {.direct = false});
    first.Begin();
    ASSERT_EQ(first.Opened(Open()), Step::kRead);
    EXPECT_EQ(first.flags(), kRwfDontCache);
    ASSERT_EQ(first.ReadEnded(-error), Step::kRead);
    EXPECT_EQ(first.flags(), 0);
    ReadJob second(Expecting(), &systems, {.direct = false});
    second.Begin();
    ASSERT_EQ(second.Opened(Open()), Step::kRead);
    EXPECT_EQ(second.flags(), 0);
    // Without the flag the same error is one.
    ASSERT_EQ(second.ReadEnded(-error), Step::kLook);
    ASSERT_EQ(second.LookNow(source_), Step::kEnd);
    EXPECT_EQ(ErrorOf(second.status()), error);
  }
}

TEST_F(ReadJobTest, AnErrorOfTheDeviceNamesTheByte) {
  ReadJob job(Expecting(), &systems_, {});
  job.Begin();
  ASSERT_EQ(job.Opened(Open()), Step::kRead);
  ASSERT_EQ(job.ReadEnded(4096), Step::kRead);
  ASSERT_EQ(job.ReadEnded(-EIO), Step::kLook);
  ASSERT_EQ(job.LookNow(source_), Step::kEnd);
  EXPECT_EQ(ErrorOf(job.status()), EIO);
  EXPECT_THAT(std::string(job.status().message()),
              HasSubstr("f: read at byte 4096"));
}

TEST_F(ReadJobTest, DoesNotAskAgainForEver) {
  ReadJob job(Expecting(), &systems_, {});
  job.Begin();
  ASSERT_EQ(job.Opened(Open()), Step::kRead);
  Step step = Step::kRead;
  int asked = 0;
  while (step == Step::kRead && asked < 1000) {
    step = job.ReadEnded(-EAGAIN);
    ++asked;
  }
  ASSERT_EQ(step, Step::kLook);
  ASSERT_EQ(job.LookNow(source_), Step::kEnd);
  EXPECT_EQ(ErrorOf(job.status()), EAGAIN);
}

// Rewritten between the open and the end of the read: what was read may be of
// both.
TEST_F(ReadJobTest, AFileThatChangesMeanwhileIsStale) {
  ReadJob job(Expecting(), &systems_, {});
  job.Begin();
  ASSERT_EQ(job.Opened(Open()), Step::kRead);
  tree_.SetTime("f", 1000000000);
  ASSERT_EQ(job.ReadEnded(20000), Step::kLook);
  ASSERT_EQ(job.LookNow(source_), Step::kEnd);
  EXPECT_EQ(ErrorOf(job.status()), ESTALE);
}

TEST_F(ReadJobTest, AFailedLookIsAnErrorAndAnOpenOfASocketIsStale) {
  ReadJob looks(Expecting(), &systems_, {});
  looks.Begin();
  ASSERT_EQ(looks.Opened(Open()), Step::kRead);
  ASSERT_EQ(looks.ReadEnded(20000), Step::kLook);
  ASSERT_EQ(looks.Looked(-EACCES), Step::kEnd);
  EXPECT_EQ(ErrorOf(looks.status()), EACCES);
  for (const auto& [error, told] :
       std::vector<std::pair<int, int>>{{ENOENT, ESTALE},
                                        {ENOTDIR, ESTALE},
                                        {ELOOP, ESTALE},
                                        {ENXIO, ESTALE},
                                        {EACCES, EACCES},
                                        {EMFILE, EMFILE}}) {
    ReadJob opens(Expecting(), &systems_, {});
    opens.Begin();
    ASSERT_EQ(opens.OpenFailed(error), Step::kEnd);
    EXPECT_EQ(ErrorOf(opens.status()), told);
    EXPECT_THAT(std::string(opens.status().message()), HasSubstr("f: "));
  }
}

TEST_F(ReadJobTest, ReadsWhatItBorrowsAndGivesNothingBack) {
  const std::shared_ptr<const OpenFile> lent = Lent();
  ReadJob job(OneOfMany(), &systems_, {});
  ASSERT_EQ(job.Begin(), Step::kOpen);
  ASSERT_EQ(job.Borrowed(lent), Step::kRead);
  EXPECT_EQ(job.fd(), lent->fd.get());
  EXPECT_EQ(Wanted(job), 20480u);
  ASSERT_EQ(job.ReadEnded(20000), Step::kLook);
  ASSERT_EQ(job.LookNow(source_), Step::kEnd);
  EXPECT_TRUE(job.status().ok()) << job.status();
  EXPECT_FALSE(job.is_stale());
  EXPECT_FALSE(job.may_lend());
  EXPECT_FALSE(job.TakeFd().valid());
}

// Others read by the descriptor: what is wrong with it is so for this job only
// when it is wrong with one of its own, too.
TEST_F(ReadJobTest, OpensAnewWhereWhatItBorrowedDoesNotDo) {
  const std::shared_ptr<const OpenFile> lent = Lent();
  const auto fails = [&](auto&& until_it_opens) {
    ReadJob job(OneOfMany(), &systems_, {});
    job.Begin();
    job.Borrowed(lent);
    ASSERT_EQ(until_it_opens(job), Step::kOpen);
    EXPECT_TRUE(job.is_stale());
    EXPECT_FALSE(job.takes_open_file());
    EXPECT_EQ(job.got(), 0u) << "what came may be of another file";
    ASSERT_EQ(job.Opened(Open()), Step::kRead);
    EXPECT_NE(job.fd(), lent->fd.get());
    ASSERT_EQ(job.ReadEnded(20000), Step::kLook);
    ASSERT_EQ(job.LookNow(source_), Step::kEnd);
    EXPECT_TRUE(job.status().ok()) << job.status();
    EXPECT_FALSE(job.may_lend());
  };
  const int flags = fcntl(lent->fd.get(), F_GETFL);
  fails([](ReadJob& job) { return job.ReadEnded(5000); });  // an odd piece
  fails([](ReadJob& job) { return job.ReadEnded(-EINVAL); });
  EXPECT_EQ(fcntl(lent->fd.get(), F_GETFL), flags) << "of others, too";
  fails([this](ReadJob& job) {
    EXPECT_EQ(job.ReadEnded(-EIO), Step::kLook);
    return job.LookNow(source_);
  });
  fails([](ReadJob& job) {
    EXPECT_EQ(job.ReadEnded(20000), Step::kLook);
    return job.Looked(-ESTALE);
  });
}

// What a ring does, which must not wait for a server.
TEST_F(ReadJobTest, TheListOfAccessIsReadByACallOfItsOwn) {
  FileRead read = Expecting();
  read.expected->serves_others = true;
  read.expected->mode |= 0044;
  ASSERT_EQ(chmod(tree_.At("f").c_str(), 0644), 0);
  read.expected->source_mode = 0;  // a changed mode explains a changed ctime
  const auto asks = [&](ReadJob& job) {
    job.Begin();
    job.Opened(Open());
    EXPECT_EQ(job.ReadEnded(20000), Step::kLook);
    EXPECT_EQ(statx(job.fd(), "", AT_EMPTY_PATH, kLookMask, &job.look()), 0);
    EXPECT_EQ(job.Looked(0), Step::kAcl);
    EXPECT_EQ(job.acl().size(), kAclBytes);
  };
  ReadJob none(read, &systems_, {});
  asks(none);
  ASSERT_EQ(none.AclRead(-ENODATA), Step::kEnd);
  EXPECT_TRUE(none.status().ok()) << none.status();

  ReadJob denied(read, &systems_, {});
  asks(denied);
  ASSERT_EQ(denied.AclRead(-EINTR), Step::kAcl);
  ASSERT_EQ(denied.AclRead(-ERANGE), Step::kAcl);
  const std::string acl = AclWith(kUser, 0, 4, 4);
  ASSERT_GT(denied.acl().size(), kAclBytes);
  std::copy(acl.begin(), acl.end(), denied.acl().begin());
  ASSERT_EQ(denied.AclRead(static_cast<int>(acl.size())), Step::kEnd);
  EXPECT_EQ(ErrorOf(denied.status()), EACCES);

  ReadJob unknown(read, &systems_, {});
  asks(unknown);
  ASSERT_EQ(unknown.AclRead(-EIO), Step::kEnd);
  EXPECT_EQ(ErrorOf(unknown.status()), EIO);

  ReadJob old_kernel(read, &systems_, {});
  asks(old_kernel);
  ASSERT_EQ(old_kernel.AclRead(-EINVAL), Step::kEnd);
  EXPECT_TRUE(old_kernel.status().ok()) << old_kernel.status();
}

TEST_F(ReadJobTest, AnErrorThatStaysIsToldOnce) {
  ReadJob job(OneOfMany(), &systems_, {});
  job.Begin();
  job.Borrowed(Lent());
  job.ReadEnded(-EIO);
  ASSERT_EQ(job.LookNow(source_), Step::kOpen);
  job.Opened(Open());
  job.ReadEnded(-EIO);
  ASSERT_EQ(job.LookNow(source_), Step::kEnd);
  EXPECT_EQ(ErrorOf(job.status()), EIO);
}

}  // namespace
}  // namespace shufflefs
