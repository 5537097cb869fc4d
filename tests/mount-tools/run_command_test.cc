// SPDX-License-Identifier: Apache-2.0
// The parts of `shufflectl run` without a mount.
#include "mount-tools/ctl/run/run_command.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mount-tools/ctl/run/passed_signals.h"
#include "mount-tools/ctl/run/private_dir.h"
#include "tests/mount-tools/temp_dir.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

TEST(RunCommand, TheMountpointReplacesEachMark) {
  EXPECT_THAT(WithMountpoint({"a", "--data={}/{}", "{"}, "{}", "/m"),
              ElementsAre("a", "--data=/m//m", "{"));
  EXPECT_THAT(WithMountpoint({"{}", "@"}, "@", "/{}@"),
              ElementsAre("{}", "/{}@"));
  EXPECT_THAT(WithMountpoint({"{}"}, "", "/m"), ElementsAre("{}"));
}

// Whether others can reach `path`: no directory above it is ours alone.
bool OthersReach(std::filesystem::path path) {
  for (path = path.parent_path(); path != "/"; path = path.parent_path()) {
    struct stat st;
    if (stat(path.c_str(), &st) == 0 && (st.st_mode & 0077) == 0) return false;
  }
  return true;
}

TEST(PrivateDirTest, IsMadeInTheFirstPlaceThatIsSafe) {
  const TempDir dir;
  if (!OthersReach(dir.path())) {  // then every place in it is safe
    EXPECT_TRUE(PrivateDir::Make({dir.path()}).ok());
    return;
  }
  const std::string open = dir.path() + "/open";
  const std::string own = dir.path() + "/own";
  ASSERT_EQ(chmod(dir.path().c_str(), 0755), 0);
  ASSERT_EQ(mkdir(open.c_str(), 0700), 0);
  ASSERT_EQ(chmod(open.c_str(), 0777), 0);
  ASSERT_EQ(mkdir(own.c_str(), 0700), 0);
  // Whoever can predict a name can be there first.
  const auto first = PrivateDir::Make({dir.path() + "/absent", open, own});
  const auto second = PrivateDir::Make({own});
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_THAT(first->path(), StartsWith(own + "/shufflefs-"));
  EXPECT_NE(first->path(), second->path());
  struct stat st;
  ASSERT_EQ(stat(first->path().c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0700u);
  EXPECT_TRUE(std::filesystem::is_empty(open));
  EXPECT_EQ(ErrnoOf(PrivateDir::Make({open}).status()), EPERM);
  EXPECT_EQ(ErrnoOf(PrivateDir::Make({"/no"}).status()), ENOENT);
}

TEST(PrivateDirTest, IsRemovedWithItsStateOnly) {
  const TempDir dir;
  const auto made = PrivateDir::Make({dir.path()});
  ASSERT_TRUE(made.ok()) << made.status();
  const std::string name =
      std::filesystem::path(made->path()).filename().string();
  dir.Write(name + "/state/records/x", "x");
  dir.Write(name + "/mnt/sample", "x");
  EXPECT_EQ(ErrnoOf(made->Remove()), ENOTEMPTY);
  EXPECT_EQ(dir.Read(name + "/mnt/sample"), "x");
  std::filesystem::remove(made->mountpoint() + "/sample");
  EXPECT_TRUE(made->Remove().ok());
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

int Status(const std::string& script) {
  const PassedSignals signals;
  const auto child = signals.Start({"sh", "-c", script}, {});
  EXPECT_TRUE(child.ok()) << child.status();
  return signals.AwaitAndPass(*child);
}

TEST(PassedSignalsTest, TheStatusIsThatOfAShell) {
  EXPECT_EQ(Status("exit 0"), 0);
  EXPECT_EQ(Status("exit 3"), 3);
  EXPECT_EQ(Status("kill -KILL $$"), 128 + SIGKILL);
  const PassedSignals signals;
  EXPECT_EQ(ErrnoOf(signals.Start({"/no/such"}, {}).status()), ENOENT);
  EXPECT_EQ(ErrnoOf(signals.Start({"/"}, {}).status()), EACCES);
}

// The signals are as they were for the program. What it sends to us, as `kill
// 0` does, it would get twice.
TEST(PassedSignalsTest, AProgramDoesNotSignalItself) {
  EXPECT_EQ(Status("trap 'exit 4' TERM; kill -TERM $PPID; sleep 0.2; exit 5"),
            5);
  EXPECT_EQ(Status("(kill -TERM $$); sleep 60"), 128 + SIGTERM);
}

TEST(PassedSignalsTest, OthersSignalTheProgram) {
  EXPECT_EQ(Status("trap 'exit 4' TERM; (exec sh -c \"kill -TERM $PPID\"); "
                   "sleep 1; exit 5"),
            4);
}

TEST(PassedSignalsTest, ASignalEndsTheWaiting) {
  const PassedSignals signals;
  int came = 0;
  auto child = signals.Start({"sh", "-c", "exit 6"}, {.apart = true});
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(signals.AwaitUnless(*child, came), 6);
  EXPECT_EQ(came, 0);
  child = signals.Start({"sleep", "1000"}, {.apart = true});
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(getsid(*child), *child);
  raise(SIGHUP);
  EXPECT_EQ(signals.AwaitUnless(*child, came), 128 + SIGHUP);
  EXPECT_EQ(came, SIGHUP);
  EXPECT_EQ(kill(*child, 0), -1);
}

TEST(PassedSignalsTest, ASignalThatTellsSomethingWaitsForTheProgram) {
  const PassedSignals signals;
  int came = 0;
  auto child = signals.Start({"sh", "-c", "exit 6"}, {.apart = true});
  ASSERT_TRUE(child.ok());
  raise(SIGUSR1);
  EXPECT_EQ(signals.AwaitUnless(*child, came), 6);
  EXPECT_EQ(signals.Came(), 0);
  child = signals.Start({"sleep", "1000"}, {});
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(signals.AwaitAndPass(*child), 128 + SIGUSR1);
}

// As nohup does.
TEST(PassedSignalsTest, WhatIsIgnoredStaysIgnored) {
  const auto before = signal(SIGHUP, SIG_IGN);
  {
    const PassedSignals signals;
    raise(SIGHUP);
    EXPECT_EQ(signals.Came(), 0);
  }
  EXPECT_EQ(Status("kill -HUP $$; exit 7"), 7);
  signal(SIGHUP, before);
}

TEST(PassedSignalsTest, ASignalCanBeAskedFor) {
  const PassedSignals signals;
  EXPECT_EQ(signals.Came(), 0);
  raise(SIGCHLD);
  raise(SIGTERM);
  EXPECT_EQ(signals.Came(), SIGTERM);
  EXPECT_EQ(signals.Came(), 0);
  // The end of a child is found although its signal was taken.
  const auto child = signals.Start({"true"}, {});
  ASSERT_TRUE(child.ok());
  siginfo_t ended;
  ASSERT_EQ(waitid(P_PID, *child, &ended, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(signals.Came(), 0);
  EXPECT_EQ(signals.AwaitAndPass(*child), 0);
}

}  // namespace
}  // namespace shufflefs
