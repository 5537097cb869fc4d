// SPDX-License-Identifier: Apache-2.0
// Who is in the way of an unmount. Real unmounts are tested with real mounts.
#include "mount-tools/daemon/unmount.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/mount-tools/temp_dir.h"

namespace shufflefs {
namespace {

// A process that does `prepare`, then waits until it is killed.
class Holder {
 public:
  template <typename F>
  explicit Holder(F prepare) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    pid_ = fork();
    if (pid_ == 0) {
      prepare();
      const char done = 1;
      if (write(ready[1], &done, 1) != 1) _exit(1);
      while (true) pause();
    }
    char done = 0;
    EXPECT_EQ(read(ready[0], &done, 1), 1);
    close(ready[0]);
    close(ready[1]);
  }
  ~Holder() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  std::string pid() const { return absl::StrCat(pid_, " ("); }

 private:
  pid_t pid_;
};

TEST(Unmount, NamesProcessesWithOpenFiles) {
  const TempDir dir;
  const std::string file = dir.Write("a/b", "x");
  const Holder holder([&] {
    if (open(file.c_str(), O_RDONLY) < 0) _exit(1);
  });
  EXPECT_THAT(ProcessesIn(dir.path()),
              ::testing::Contains(::testing::StartsWith(holder.pid())));
  EXPECT_THAT(ProcessesIn(dir.path() + "/a"), ::testing::SizeIs(1));
  EXPECT_THAT(ProcessesIn(dir.path() + "/a/bc"), ::testing::IsEmpty());
}

TEST(Unmount, NamesProcessesThatWorkThere) {
  const TempDir dir;
  const Holder holder([&] {
    if (chdir(dir.path().c_str()) != 0) _exit(1);
  });
  EXPECT_THAT(ProcessesIn(dir.path()),
              ::testing::ElementsAre(::testing::StartsWith(holder.pid())));
}

TEST(Unmount, LeavesOutOneself) {
  const TempDir dir;
  const int fd = open(dir.path().c_str(), O_RDONLY);
  EXPECT_THAT(ProcessesIn(dir.path()), ::testing::IsEmpty());
  close(fd);
}

TEST(Unmount, WhatIsNotMountedIsAnError) {
  const TempDir dir;
  const absl::Status status = Unmount(dir.path(), {});
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(dir.path()));
}

}  // namespace
}  // namespace shufflefs
