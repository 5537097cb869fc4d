// SPDX-License-Identifier: Apache-2.0
#include "fs/backing/backing_files.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/base/status.h"
#include "fs/backing/write_lease.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A kernel that keeps ids, and a source with one file for each node.
class BackingFilesTest : public testing::Test {
 protected:
  BackingFilesTest() {
    LeaseBell::BlockSignal();
    const std::string folder = testing::TempDir();
    path_ = folder + "backing_files_XXXXXX";
    const UniqueFd made(mkstemp(path_.data()));
    EXPECT_TRUE(made.valid());
  }
  ~BackingFilesTest() override { unlink(path_.c_str()); }

  void Make(size_t most = 100) {
    BackingFiles::Parts parts;
    parts.open = [this](uint64_t) -> absl::StatusOr<UniqueFd> {
      ++source_opens_;
      if (refuses_) return ErrnoStatus(ESTALE, "changed");
      UniqueFd fd(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
      RETURN_IF_ERROR(TakeLease(fd.get()));
      return fd;
    };
    parts.check = [this](uint64_t, int fd) {
      EXPECT_GE(fcntl(fd, F_GETFD), 0);
      ++checks_;
      return lost_ ? ErrnoStatus(EACCES, "lost") : absl::OkStatus();
    };
    parts.add = [this](int) -> absl::StatusOr<int32_t> {
      MutexLock lock(mu_);
      ids_.insert(++last_id_);
      return last_id_;
    };
    parts.remove = [this](int32_t id) {
      MutexLock lock(mu_);
      EXPECT_EQ(ids_.erase(id), 1u);
    };
    parts.enter = [this]() -> absl::StatusOr<UniqueFd> {
      if (no_way_in_) return absl::NotFoundError("covered");
      ++ways_in_;
      way_in_ = open("/", O_PATH | O_CLOEXEC);
      return UniqueFd(way_in_);
    };
    parts.tell = [this](uint64_t) { ++told_; };
    parts.cut_off = [this](uint64_t nodeid, int way_in) {
      EXPECT_GE(fcntl(way_in, F_GETFD), 0);
      EXPECT_EQ(files_->NodeOfCutOffName(BackingFiles::CutOffName(nodeid)),
                nodeid);
      MutexLock lock(mu_);
      cut_off_.push_back(nodeid);
      return comes_through_.load();
    };
    parts.most = most;
    files_ = std::make_unique<BackingFiles>(std::move(parts));
  }

  std::unique_ptr<LeaseBell> StartedBell() {
    auto bell = LeaseBell::Make();
    EXPECT_TRUE(bell.ok() && (*bell)->Start(Calls()));
    return *std::move(bell);
  }
  LeaseBell::Calls Calls() {
    return {[this] { files_->LetWritersGo(); }, [] {}};
  }

  using Answer = absl::StatusOr<BackingFiles::Opened>;
  Answer TryOpen(uint64_t nodeid, bool wanted = true) {
    std::promise<Answer> opened;
    files_->Open(nodeid, wanted,
                 [&](const Answer& how) { opened.set_value(how); });
    return opened.get_future().get();
  }
  BackingFiles::Opened Open(uint64_t nodeid, bool wanted = true) {
    const Answer opened = TryOpen(nodeid, wanted);
    EXPECT_EQ(opened.status(), absl::OkStatus());
    return opened.ok() ? *opened : BackingFiles::Opened();
  }
  // Also waits until the worker has closed the files.
  std::set<int32_t> Ids() {
    constexpr uint64_t kAnother = 999999;
    const bool refused = refuses_.exchange(true);
    files_->Close(kAnother, Open(kAnother).handle);
    refuses_ = refused;
    MutexLock lock(mu_);
    return ids_;
  }
  std::vector<uint64_t> CutOff() {
    MutexLock lock(mu_);
    return cut_off_;
  }
  // Another process, because a process does not break its own lease.
  void BeginToWrite(const std::function<void(pid_t writer)>& meanwhile) {
    const pid_t child = fork();
    if (child == 0) _exit(open(path_.c_str(), O_WRONLY) < 0 ? 1 : 0);
    meanwhile(child);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }

  std::string path_;
  std::atomic<bool> refuses_{false};
  std::atomic<int> source_opens_{0};
  std::atomic<bool> no_way_in_{false};
  std::atomic<int> ways_in_{0};
  std::atomic<int> told_{0};
  std::atomic<int> way_in_{-1};  // the last
  std::atomic<bool> lost_{false};
  std::atomic<int> checks_{0};
  Mutex mu_;
  int32_t last_id_ = 0;
  std::set<int32_t> ids_;
  std::vector<uint64_t> cut_off_;
  std::atomic<bool> comes_through_{true};
  std::unique_ptr<BackingFiles> files_;
};

TEST_F(BackingFilesTest, DescriptorsOfAnInodeShareOneId) {
  Make();
  const BackingFiles::Opened one = Open(7);
  const BackingFiles::Opened two = Open(7);
  const BackingFiles::Opened other = Open(8);
  EXPECT_EQ(one.backing_id, 1);
  EXPECT_EQ(two.backing_id, 1);
  EXPECT_EQ(other.backing_id, 2);
  EXPECT_EQ(source_opens_, 2);
  files_->Close(7, one.handle);
  EXPECT_THAT(Ids(), ElementsAre(1, 2));
  files_->Close(7, two.handle);
  EXPECT_THAT(Ids(), ElementsAre(2));
  files_->Close(8, other.handle);
  EXPECT_THAT(Ids(), IsEmpty());
  EXPECT_EQ(files_->count(), 0u);
}

TEST_F(BackingFilesTest, TheLastCloseFreesTheInodeForTheDaemon) {
  Make();
  files_->Close(7, Open(7).handle);
  EXPECT_EQ(Open(7, /*wanted=*/false).backing_id, 0);
}

TEST_F(BackingFilesTest, WhatTheDaemonReadsItReadsForAllDescriptors) {
  Make();
  EXPECT_EQ(Open(7, /*wanted=*/false).backing_id, 0);
  EXPECT_EQ(Open(7).backing_id, 0);
  files_->Close(7, 0);
  EXPECT_EQ(Open(7).backing_id, 0);  // one descriptor is left
  files_->Close(7, 0);
  files_->Close(7, 0);
  EXPECT_NE(Open(7).backing_id, 0);
}

TEST_F(BackingFilesTest, WhatTheKernelReadsItReadsForAllDescriptors) {
  Make();
  const BackingFiles::Opened first = Open(7);
  EXPECT_EQ(Open(7, /*wanted=*/false).backing_id, first.backing_id);
}

// The first descriptor may be older than a change of the file.
TEST_F(BackingFilesTest, EachFurtherDescriptorIsChecked) {
  Make();
  const BackingFiles::Opened first = Open(7);
  EXPECT_EQ(checks_, 0);  // `open` checked it
  lost_ = true;
  EXPECT_EQ(ErrnoOf(TryOpen(7).status()), EACCES);
  EXPECT_EQ(ErrnoOf(TryOpen(7, /*wanted=*/false).status()), EACCES);
  EXPECT_EQ(checks_, 2);
  EXPECT_THAT(Ids(), ElementsAre(first.backing_id));
  lost_ = false;
  EXPECT_EQ(Open(7).backing_id, first.backing_id);
  files_->Close(7, first.handle);
  EXPECT_THAT(Ids(), ElementsAre(first.backing_id));
  files_->Close(7, first.handle);  // those that failed do not count
  EXPECT_THAT(Ids(), IsEmpty());
}

TEST_F(BackingFilesTest, ADescriptorThatFailsMayBeTheLast) {
  Make();
  for (int round = 0; round < 200; ++round) {
    const BackingFiles::Opened first = Open(7);
    lost_ = true;
    std::jthread other([this] {
      const Answer answer = TryOpen(7, /*wanted=*/false);
      if (answer.ok()) files_->Close(7, answer->handle);
    });
    files_->Close(7, first.handle);
    other.join();
    lost_ = false;
  }
  EXPECT_THAT(Ids(), IsEmpty());
  EXPECT_EQ(files_->count(), 0u);
}

TEST_F(BackingFilesTest, AChangedFileIsTheDaemons) {
  Make();
  refuses_ = true;
  EXPECT_EQ(Open(7).backing_id, 0);
  refuses_ = false;
  EXPECT_EQ(Open(7).backing_id, 0);  // like the descriptor before
  EXPECT_THAT(Ids(), IsEmpty());
}

TEST_F(BackingFilesTest, AFileThatIsOpenForWritingIsTheDaemons) {
  Make();
  const UniqueFd writer(open(path_.c_str(), O_WRONLY));
  EXPECT_EQ(Open(7).backing_id, 0);
}

TEST_F(BackingFilesTest, NoMoreFilesThanAllowed) {
  Make(/*most=*/2);
  const BackingFiles::Opened first = Open(1);
  EXPECT_NE(Open(2).backing_id, 0);
  EXPECT_EQ(Open(3).backing_id, 0);
  files_->Close(1, first.handle);
  EXPECT_NE(Open(4).backing_id, 0);
}

TEST_F(BackingFilesTest, FilesShareAWayIntoTheMountWhileItIsThere) {
  Make();
  files_->Close(7, Open(7).handle);
  files_->Close(8, Open(8).handle);
  EXPECT_EQ(ways_in_, 1);
  const int way_in = way_in_;
  const BackingFiles::Opened opened = Open(7);
  files_->LeaveMount();
  EXPECT_THAT(Ids(), ElementsAre(opened.backing_id));
  EXPECT_GE(fcntl(way_in, F_GETFD), 0);  // to cut the reader off
  files_->Close(7, opened.handle);
  EXPECT_THAT(Ids(), IsEmpty());
  EXPECT_EQ(fcntl(way_in, F_GETFD), -1);
  no_way_in_ = true;
  EXPECT_EQ(Open(7).backing_id, 0);  // its readers could not be cut off
}

TEST_F(BackingFilesTest, ClosingWhatWasNotOpenedDoesNothing) {
  Make();
  files_->Close(7, 0);
  files_->Close(7, 5);
  EXPECT_NE(Open(7).backing_id, 0);
}

TEST_F(BackingFilesTest, AWriterGoesOnWaitingIfReadersMayNotBeCutOff) {
  Make();
  comes_through_ = false;
  const auto bell = StartedBell();
  const BackingFiles::Opened opened = Open(7);
  BeginToWrite([&](pid_t writer) {
    while (CutOff().size() < 2) std::this_thread::yield();
    EXPECT_EQ(told_, 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(waitpid(writer, nullptr, WNOHANG), 0);
    files_->Close(7, opened.handle);  // the last reader
  });
}

TEST_F(BackingFilesTest, AWriterWaitsUntilReadersAreCutOff) {
  Make();
  const auto bell = StartedBell();
  const BackingFiles::Opened opened = Open(7);
  ASSERT_NE(opened.backing_id, 0);
  EXPECT_FALSE(files_->IsCutOff(7));
  EXPECT_EQ(files_->NodeOfCutOffName(BackingFiles::CutOffName(7)),
            absl::nullopt);
  BeginToWrite([](pid_t) {});  // returns when the writer could open the file
  EXPECT_THAT(CutOff(), ElementsAre(7));
  EXPECT_TRUE(files_->IsCutOff(7));
  EXPECT_EQ(Open(7).backing_id, 0);  // for as long as the mount lives
  EXPECT_THAT(Ids(), ElementsAre(1));
  files_->Close(7, opened.handle);
  EXPECT_THAT(Ids(), IsEmpty());
  EXPECT_EQ(Open(7).backing_id, 0);
  bell->Stop();
}

// Until then the kernel would fail a descriptor that the daemon reads.
TEST_F(BackingFilesTest, OpensAreStaleUntilTheKernelKnowsTheNewInode) {
  Make();
  comes_through_ = false;
  const auto bell = StartedBell();
  const BackingFiles::Opened opened = Open(7);
  EXPECT_FALSE(files_->TellsNewInode(7));
  BeginToWrite([&](pid_t) {
    while (CutOff().empty()) std::this_thread::yield();
    EXPECT_TRUE(Open(7).stale);
    EXPECT_FALSE(Open(8).stale);
    EXPECT_TRUE(files_->TellsNewInode(7));
    const BackingFiles::Opened fresh = Open(7);
    EXPECT_FALSE(fresh.stale);
    EXPECT_EQ(fresh.backing_id, 0);
    files_->Close(7, opened.handle);  // the last reader
  });
}

TEST_F(BackingFilesTest, AClosedFileHoldsUpNoWriter) {
  Make();
  files_->Close(7, Open(7).handle);
  EXPECT_THAT(Ids(), IsEmpty());
  BeginToWrite([](pid_t) {});
  EXPECT_THAT(CutOff(), IsEmpty());
}

// The kernel would fail one of two opens that are answered differently.
TEST_F(BackingFilesTest, OpensAtTheSameTimeAreOfOneKind) {
  Make();
  for (uint64_t node = 1; node < 200; ++node) {
    std::vector<BackingFiles::Opened> opened(4);
    {
      std::vector<std::jthread> threads;
      for (size_t i = 0; i < opened.size(); ++i) {
        threads.emplace_back(
            [&, i] { opened[i] = Open(node, /*wanted=*/i != 2); });
      }
    }
    for (const BackingFiles::Opened& each : opened) {
      EXPECT_EQ(each.backing_id, opened[0].backing_id) << node;
    }
    for (const BackingFiles::Opened& each : opened) {
      files_->Close(node, each.handle);
    }
  }
  EXPECT_THAT(Ids(), IsEmpty());
}

TEST_F(BackingFilesTest, AfterTheEndTheDaemonReads) {
  Make();
  const BackingFiles::Opened before = Open(7);
  files_->Stop();
  EXPECT_EQ(Open(8).backing_id, 0);
  files_->Close(7, before.handle);
  MutexLock lock(mu_);
  EXPECT_THAT(ids_, ElementsAre(1));  // the kernel drops it with the mount
}

}  // namespace
}  // namespace shufflefs
