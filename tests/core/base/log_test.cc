// SPDX-License-Identifier: Apache-2.0
#include "core/base/log.h"

#include <atomic>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

using ::testing::MatchesRegex;

// What a log with these options writes to stderr.
std::string Written(const LogOptions& options, LogLevel level,
                    const std::string& line) {
  ::testing::internal::CaptureStderr();
  InitLog(options);
  Log(level, line);
  InitLog({});
  return ::testing::internal::GetCapturedStderr();
}

TEST(Log, ALineHasItsLevel) {
  EXPECT_EQ(Written({}, LogLevel::kInfo, "x"), "shufflefs: info: x\n");
  EXPECT_EQ(Written({}, LogLevel::kWarning, "x"), "shufflefs: warning: x\n");
  EXPECT_EQ(Written({}, LogLevel::kError, "x"), "shufflefs: error: x\n");
}

TEST(Log, LowerLevelsAreLeftOut) {
  const LogOptions errors{.level = LogLevel::kError};
  EXPECT_EQ(Written(errors, LogLevel::kWarning, "x"), "");
  EXPECT_EQ(Written(errors, LogLevel::kError, "x"), "shufflefs: error: x\n");
  EXPECT_EQ(Written({.level = LogLevel::kDebug}, LogLevel::kDebug, "x"),
            "shufflefs: debug: x\n");
}

TEST(Log, TimeStampsAreIso8601) {
  EXPECT_THAT(Written({.time_stamps = true}, LogLevel::kInfo, "x"),
              MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:"
                           "[0-9]{2}\\.[0-9]{3}[-+][0-9]{4} "
                           "shufflefs: info: x\n"));
}

TEST(Log, TheJournalGetsPriorities) {
  const LogOptions journal{.priorities = true};
  EXPECT_EQ(Written(journal, LogLevel::kInfo, "x"), "<6>shufflefs: info: x\n");
  EXPECT_EQ(Written(journal, LogLevel::kWarning, "x"),
            "<4>shufflefs: warning: x\n");
  EXPECT_EQ(Written(journal, LogLevel::kError, "x"),
            "<3>shufflefs: error: x\n");
}

TEST(Log, JsonIsAnObjectALine) {
  const std::string line =
      Written({.format = LogFormat::kJson, .mountpoint = "/m"},
              LogLevel::kWarning, "a \"b\"\n\xff");
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const nlohmann::json json = nlohmann::json::parse(line);
  EXPECT_EQ(json["level"], "warning");
  EXPECT_EQ(json["mountpoint"], "/m");
  EXPECT_EQ(json["message"], "a \"b\"\n\xef\xbf\xbd");
  EXPECT_THAT(json["time"].get<std::string>(),
              MatchesRegex("[0-9-]{10}T[0-9:]{8}\\.[0-9]{3}Z"));
}

TEST(Log, AFileNameCannotLookLikeALine) {
  EXPECT_EQ(Written({.priorities = true}, LogLevel::kInfo, "a\n<0>b\x1b"),
            "<6>shufflefs: info: a?<0>b?\n");
}

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
    InitLog({.level = LogLevel::kError});
    std::this_thread::yield();
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  InitLog({});
  EXPECT_GE(lines, 1000);
}

}  // namespace
}  // namespace shufflefs
