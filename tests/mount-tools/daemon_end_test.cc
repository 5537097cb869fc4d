// SPDX-License-Identifier: Apache-2.0
// With a plain directory in the place of a mount, whose daemon is this process.
#include "mount-tools/ctl/umount/daemon_end.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/files/unique_fd.h"
#include "core/engine/state_dir.h"
#include "gtest/gtest.h"
#include "mount-tools/config/config_file.h"
#include "tests/mount-tools/temp_dir.h"

namespace shufflefs {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLong{60'000};

class DaemonEndTest : public ::testing::Test {
 protected:
  // Takes the lock of the state, as its daemon does. Control shows the views.
  void Serve(const std::string& state, const std::vector<std::string>& views) {
    MountConfig mount;
    mount.state = dir_.path() + "/" + state;
    std::filesystem::create_directory(mount.state);
    lock_ = UniqueFd(open(LockPath(mount.state).c_str(),
                          O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_EQ(flock(lock_.get(), LOCK_EX | LOCK_NB), 0);
    std::string text;
    for (const std::string& path : views) {
      ViewConfig view;
      view.path = path;
      text += EffectiveToml(mount, view);
    }
    dir_.Write(".shufflefs/control", text);
  }

  TempDir dir_;
  UniqueFd lock_;
};

TEST_F(DaemonEndTest, TheDaemonIsFoundWhateverBytesPathsHave) {
  for (const char* state : {"state", "a \"b\"\\", "two\nlines", "\xff",
                            "not\xc3UTF-8\nstate = \"x\""}) {
    Serve(state, {"train", "\xfe\xff"});
    EXPECT_EQ(DaemonOf(dir_.path(), kLong), getpid()) << state;
    Serve(state, {"\xff"});
    EXPECT_EQ(DaemonOf(dir_.path(), kLong), getpid()) << state;
  }
}

TEST_F(DaemonEndTest, WithoutAStateNobodyIsFound) {
  EXPECT_EQ(DaemonOf(dir_.path(), kLong), 0);
  dir_.Write(".shufflefs/control", "policy = \"native\"\n");
  EXPECT_EQ(DaemonOf(dir_.path(), kLong), 0);
}

// The mount tells the path of its state.
TEST_F(DaemonEndTest, APipeInThePlaceOfTheLockHangsNobody) {
  Serve("state", {"", "train"});
  const std::string lock = LockPath(dir_.path() + "/state");
  lock_.reset();
  std::filesystem::remove(lock);
  ASSERT_EQ(mkfifo(lock.c_str(), 0600), 0);
  DaemonEnd end(dir_.path(), kLong);
  EXPECT_TRUE(end.Await(steady_clock::now() + kLong));
  EXPECT_TRUE(HolderIsDying(dir_.path() + "/state"));
  EXPECT_FALSE(DaemonIsDying(dir_.path() + "/state", "boot 7"));
}

TEST_F(DaemonEndTest, ADaemonThatHoldsItsLockIsWaitedFor) {
  Serve("\xff", {"\xff"});
  DaemonEnd daemon(dir_.path(), kLong);
  EXPECT_FALSE(daemon.Await(steady_clock::now()));
}

}  // namespace
}  // namespace shufflefs
