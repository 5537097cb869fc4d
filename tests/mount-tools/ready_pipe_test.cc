// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/daemon/ready_pipe.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "gtest/gtest.h"
#include "tests/mount-tools/temp_dir.h"

namespace shufflefs {
namespace {

// It serves at the moment at which a signal ends it, and takes a while to end.
[[noreturn]] void ServeAndEnd(ReadyPipe& ready, const sigset_t& signals,
                              const std::string& end) {
  kill(getppid(), SIGINT);
  int number = 0;
  sigwait(&signals, &number);
  ready.Succeed();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  std::ofstream(end) << number;
  _exit(0);
}

TEST(ReadyPipeTest, WhoInterruptsAStartIsAnsweredWhenItHasEnded) {
  const TempDir dir;
  const std::string end = dir.path() + "/end";
  sigset_t signals;
  sigset_t before;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, &before);
  ReadyPipe ready(LogOptions{});
  const absl::StatusOr<ReadyPipe::Side> side = ready.Fork();
  ASSERT_TRUE(side.ok()) << side.status();
  if (*side == ReadyPipe::Side::kChild) ServeAndEnd(ready, signals, end);
  EXPECT_EQ(ready.AwaitChild([] {}), 128 + SIGINT);
  EXPECT_TRUE(std::filesystem::exists(end));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace
}  // namespace shufflefs
