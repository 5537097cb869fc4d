// SPDX-License-Identifier: Apache-2.0
#include "core/base/log.h"

#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace shufflefs {
namespace {

// A daemon leaves its terminal while its threads already log.
TEST(Log, TheTargetChangesWhileThreadsLog) {
  std::atomic<bool> done{false};
  std::atomic<int> lines{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (!done) {
        Log(LogLevel::kDebug, "not printed");
        ++lines;
      }
    });
  }
  for (int i = 0; i < 200 || lines < 1000; ++i) {
    InitLog(LogTarget::kStderr, LogLevel::kError);
    std::this_thread::yield();
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  InitLog(LogTarget::kStderr, LogLevel::kInfo);
  EXPECT_GE(lines, 1000);
}

}  // namespace
}  // namespace shufflefs
