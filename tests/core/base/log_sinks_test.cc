// SPDX-License-Identifier: Apache-2.0
#include "core/base/log_sinks.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"

namespace shufflefs {
namespace {

using ::testing::MatchesRegex;
using testing_support::TempTree;

// Stands for the daemon that listens at /dev/log.
class LogDaemon {
 public:
  LogDaemon(const std::string& path, int type)
      : socket_(socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    EXPECT_LT(path.size(), sizeof(address.sun_path));
    strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    unlink(path.c_str());
    EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&address),
                   sizeof(address)),
              0);
    if (type == SOCK_STREAM) EXPECT_EQ(listen(socket_, 1), 0);
  }
  ~LogDaemon() { close(socket_); }
  LogDaemon(const LogDaemon&) = delete;
  LogDaemon& operator=(const LogDaemon&) = delete;

  int fd() const { return socket_; }

 private:
  const int socket_;
};

// "" if there is nothing.
std::string Receive(int fd) {
  char text[4096];
  const ssize_t size = recv(fd, text, sizeof(text), MSG_DONTWAIT);
  return size > 0 ? std::string(text, static_cast<size_t>(size)) : "";
}

class SyslogSinkTest : public ::testing::Test {
 protected:
  bool Take(int priority, const std::string& text) {
    return sink_->Take({{priority, text}}) == 1;
  }

  const TempTree tree_;
  const std::string path_ = tree_.At("log");
  const std::unique_ptr<LogSink> sink_ = MakeSyslogSink(path_);
};

TEST_F(SyslogSinkTest, ALineIsAsSyslogWritesIt) {
  const LogDaemon daemon(path_, SOCK_DGRAM);
  EXPECT_TRUE(Take(LOG_WARNING, "a line"));
  EXPECT_THAT(Receive(daemon.fd()),
              MatchesRegex("<28>[A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:[0-9]{2}:"
                           "[0-9]{2} shufflefs\\[[0-9]+\\]: a line"));
}

TEST_F(SyslogSinkTest, ADaemonThatIsRestartedGetsTheNextLine) {
  EXPECT_FALSE(Take(LOG_INFO, "too early"));
  {
    const LogDaemon daemon(path_, SOCK_DGRAM);
    EXPECT_TRUE(Take(LOG_INFO, "first"));
  }
  EXPECT_FALSE(Take(LOG_INFO, "lost"));
  const LogDaemon daemon(path_, SOCK_DGRAM);
  EXPECT_TRUE(Take(LOG_INFO, "second"));
  EXPECT_THAT(Receive(daemon.fd()), ::testing::EndsWith(": second"));
  EXPECT_EQ(Receive(daemon.fd()), "");
}

TEST_F(SyslogSinkTest, ALineFollowsARestartAtOnce) {
  {
    const LogDaemon daemon(path_, SOCK_DGRAM);
    EXPECT_TRUE(Take(LOG_INFO, "first"));
  }
  const LogDaemon daemon(path_, SOCK_DGRAM);
  EXPECT_TRUE(Take(LOG_INFO, "second"));
  EXPECT_THAT(Receive(daemon.fd()), ::testing::EndsWith(": second"));
}

TEST_F(SyslogSinkTest, ADaemonThatReadsNothingStopsNothing) {
  const LogDaemon daemon(path_, SOCK_DGRAM);
  int taken = 0;
  while (taken < 100000 && Take(LOG_INFO, "a line")) ++taken;
  EXPECT_LT(taken, 100000);
  EXPECT_NE(Receive(daemon.fd()), "");
  EXPECT_TRUE(Take(LOG_INFO, "there is room"));
}

TEST_F(SyslogSinkTest, TheLinesBeforeOneThatIsNotTakenAreCounted) {
  const LogDaemon daemon(path_, SOCK_DGRAM);
  const LogLine line = {LOG_INFO, "a line"};
  while (Take(LOG_INFO, "a line")) {
  }
  EXPECT_NE(Receive(daemon.fd()), "");
  const std::vector<LogLine> lines(100, line);
  EXPECT_EQ(sink_->Take(lines), 1u);
}

TEST_F(SyslogSinkTest, AStreamHasZeroBytesBetweenLines) {
  const LogDaemon daemon(path_, SOCK_STREAM);
  EXPECT_TRUE(Take(LOG_INFO, "first"));
  EXPECT_TRUE(Take(LOG_INFO, "second"));
  const int peer = accept(daemon.fd(), nullptr, nullptr);
  ASSERT_GE(peer, 0);
  const std::string text = Receive(peer);
  close(peer);
  EXPECT_THAT(text.c_str(), ::testing::EndsWith(": first"));
  EXPECT_THAT(text.substr(strlen(text.c_str()) + 1),
              ::testing::EndsWith(std::string(": second\0", 9)));
}

}  // namespace
}  // namespace shufflefs
