// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/daemon/uncaught.h"

#include <csignal>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "gtest/gtest.h"

namespace shufflefs {
namespace {

template <typename Error>
void DieOf(const Error& error) {
  EndOnUncaught();
  std::thread([&] { throw error; }).join();
}

TEST(UncaughtDeathTest, WithoutMemoryOrThreadsItEndsWithALine) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(DieOf(std::bad_alloc()), ::testing::ExitedWithCode(1),
              "^shufflefs: no memory is left");
  EXPECT_EXIT(
      DieOf(std::system_error(
          std::make_error_code(std::errc::resource_unavailable_try_again))),
      ::testing::ExitedWithCode(1), "^shufflefs: cannot start a thread");
}

TEST(UncaughtDeathTest, AnErrorOfItsOwnLeavesACoreDump) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(DieOf(std::logic_error("a wrong turn")),
              ::testing::KilledBySignal(SIGABRT), "please report.*\n.*a wrong");
  EXPECT_EXIT(DieOf(std::filesystem::filesystem_error(
                  "a path", std::make_error_code(std::errc::not_a_directory))),
              ::testing::KilledBySignal(SIGABRT), "please report.*\n.*a path");
}

}  // namespace
}  // namespace shufflefs
