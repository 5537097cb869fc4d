// SPDX-License-Identifier: Apache-2.0
// Who holds the lock of a state, and whether it is about to let go of it.
#include "core/engine/state_dir.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "tests/mount-tools/temp_dir.h"

namespace shufflefs {
namespace {

// A process that holds the lock of `state` until it is killed; with `dying` its
// first thread has ended and another one has not, as that of a daemon which
// waits for its own mount.
class Holder {
 public:
  Holder(const std::string& state, bool dying) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) ADD_FAILURE() << "pipe";
    pid_ = fork();
    if (pid_ == 0) Hold(state, dying, ends[1]);
    close(ends[1]);
    char word = 0;
    EXPECT_EQ(read(ends[0], &word, 1), 1);
    close(ends[0]);
  }
  ~Holder() { End(); }
  void End() {
    if (pid_ == 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  pid_t pid() const { return pid_; }

 private:
  [[noreturn]] static void Hold(const std::string& state, bool dying,
                                int ready) {
    const int lock = open(LockPath(state).c_str(), O_RDWR | O_CREAT, 0600);
    if (lock < 0 || flock(lock, LOCK_EX) != 0) _exit(1);
    std::thread other([&] {
      if (write(ready, "+", 1) != 1) _exit(1);
      for (;;) pause();
    });
    if (dying) syscall(SYS_exit, 0);  // of this thread alone
    for (;;) pause();
  }

  pid_t pid_ = 0;
};

TEST(StateDir, TheHolderOfTheLockIsFound) {
  const TempDir dir;
  EXPECT_EQ(HolderOf(dir.path()), 0);
  Holder holder(dir.path(), /*dying=*/false);
  EXPECT_EQ(HolderOf(dir.path()), holder.pid());
  EXPECT_FALSE(HolderIsDying(dir.path()));
  const auto state = StateDir::Open(dir.path());
  EXPECT_TRUE(absl::IsFailedPrecondition(state.status())) << state.status();
  holder.End();
  EXPECT_EQ(HolderOf(dir.path()), 0);
  EXPECT_TRUE(StateDir::Open(dir.path()).ok());
}

TEST(StateDir, ALinkInThePlaceOfTheLockLeadsToNobody) {
  const TempDir other;
  Holder holder(other.path(), /*dying=*/false);
  const TempDir dir;
  ASSERT_EQ(
      symlink(LockPath(other.path()).c_str(), LockPath(dir.path()).c_str()), 0);
  EXPECT_EQ(HolderOf(dir.path()), 0);
  holder.End();
}

TEST(StateDir, OneThatIsDyingIsWaitedFor) {
  const TempDir dir;
  Holder holder(dir.path(), /*dying=*/true);
  while (!HolderIsDying(dir.path())) std::this_thread::yield();
  EXPECT_EQ(HolderOf(dir.path()), holder.pid());
  std::jthread end([&] { holder.End(); });
  const auto state = StateDir::Open(dir.path());
  EXPECT_TRUE(state.ok()) << state.status();
}

TEST(StateDir, TellsOfTheDaemonOfItsOwnMountOnly) {
  const TempDir dir;
  EXPECT_FALSE(DaemonIsDying(dir.path(), "boot 7")) << "no state";
  {
    const auto state = StateDir::Open(dir.path());
    ASSERT_TRUE(state.ok());
    EXPECT_FALSE(DaemonIsDying(dir.path(), ""));
    state->SetMount("boot 123456");
    state->SetMount("boot 7");
    EXPECT_FALSE(DaemonIsDying(dir.path(), "boot 7"));
  }
  EXPECT_TRUE(DaemonIsDying(dir.path(), "boot 7"));
  EXPECT_FALSE(DaemonIsDying(dir.path(), "boot 123456"));
  EXPECT_FALSE(DaemonIsDying(dir.path(), ""));
}

TEST(StateDir, RemembersThatFilesWerePassedThrough) {
  const TempDir dir;
  const auto state = StateDir::Open(dir.path());
  ASSERT_TRUE(state.ok());
  EXPECT_FALSE(state->passed_through());
  for (int i = 0; i < 2; ++i) state->SetPassedThrough(true);
  EXPECT_TRUE(state->passed_through());
  for (int i = 0; i < 2; ++i) state->SetPassedThrough(false);
  EXPECT_FALSE(state->passed_through());
}

}  // namespace
}  // namespace shufflefs
