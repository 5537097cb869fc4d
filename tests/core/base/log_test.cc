// SPDX-License-Identifier: Apache-2.0
#include "core/base/log.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

using ::testing::MatchesRegex;

// Stderr goes to `ends[1]`, and nobody reads `ends[0]` but Drain.
class StderrInto {
 public:
  explicit StderrInto(std::array<int, 2> ends)
      : before_(dup(STDERR_FILENO)), from_(ends[0]) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    fcntl(from_, F_SETFL, O_NONBLOCK);
    InitLog({});
  }
  ~StderrInto() {
    dup2(before_, STDERR_FILENO);
    close(before_);
    close(from_);
    InitLog({});
  }
  StderrInto(const StderrInto&) = delete;
  StderrInto& operator=(const StderrInto&) = delete;

  // Returns all that is there.
  std::string Drain() const {
    std::string text;
    std::array<char, 4096> bytes;
    for (ssize_t n = 0; (n = read(from_, bytes.data(), bytes.size())) > 0;) {
      text.append(bytes.data(), static_cast<size_t>(n));
    }
    return text;
  }

 private:
  const int before_;
  const int from_;
};

std::array<int, 2> SmallPipe() {
  std::array<int, 2> ends = {-1, -1};
  EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  EXPECT_EQ(fcntl(ends[1], F_SETPIPE_SZ, 4096), 4096);
  return ends;
}

std::array<int, 2> SocketPair() {
  std::array<int, 2> ends = {-1, -1};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  return ends;
}

// Logs more than stderr takes. What arrives are whole lines in their order, and
// the next one comes after the number of the others.
void ExpectLinesAreLost(const StderrInto& err) {
  constexpr int kLines = 1000;
  const std::string tail(500, 'x');
  for (int i = 0; i < kLines; ++i) {
    Log(LogLevel::kInfo, absl::StrCat(i, " ", tail));
  }
  const std::string text = err.Drain();
  ASSERT_TRUE(absl::EndsWith(text, "\n")) << text;
  const std::vector<std::string> lines =
      absl::StrSplit(absl::StripSuffix(text, "\n"), '\n');
  ASSERT_LT(lines.size(), size_t{kLines});
  for (size_t i = 0; i < lines.size(); ++i) {
    ASSERT_EQ(lines[i], absl::StrCat("shufflefs: info: ", i, " ", tail));
  }
  Log(LogLevel::kError, "next");
  EXPECT_EQ(
      err.Drain(),
      absl::StrCat("shufflefs: warning: lines of the log that were lost: ",
                   kLines - lines.size(), "\nshufflefs: error: next\n"));
  Log(LogLevel::kError, "one more");
  EXPECT_EQ(err.Drain(), "shufflefs: error: one more\n");
}

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

TEST(Log, APipeThatNobodyReadsStopsNothing) {
  const StderrInto err(SmallPipe());
  ExpectLinesAreLost(err);
}

TEST(Log, ASocketThatNobodyReadsStopsNothing) {
  const StderrInto err(SocketPair());
  ExpectLinesAreLost(err);
}

TEST(Log, ALineThatIsLongerThanThePipeArrivesWhole) {
  const StderrInto err(SmallPipe());
  const std::string line(10000, 'x');
  Log(LogLevel::kInfo, line);
  std::string text;
  for (int i = 0; i < 3; ++i) {
    text += err.Drain();
    Log(LogLevel::kInfo, "short");
  }
  text += err.Drain();
  EXPECT_EQ(text,
            absl::StrCat("shufflefs: info: ", line,
                         "\nshufflefs: warning: lines of the log that were "
                         "lost: 1\nshufflefs: info: short\n",
                         "shufflefs: info: short\n"));
}

TEST(Log, APipeWithoutReadersStopsNothing) {
  const std::array<int, 2> ends = SmallPipe();
  const std::array<int, 2> none = {open("/dev/null", O_RDONLY | O_CLOEXEC),
                                   ends[1]};
  close(ends[0]);
  const StderrInto err(none);
  Log(LogLevel::kInfo, "nobody gets this, and no signal comes");
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
