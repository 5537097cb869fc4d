// SPDX-License-Identifier: Apache-2.0
#include "core/base/log_sinks.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace shufflefs {
namespace {

constexpr int kNoWait = MSG_DONTWAIT | MSG_NOSIGNAL;

// Stderr as it is now. It may be another file for the next line.
class OpenStderr {
 public:
  OpenStderr() {
    struct stat st;
    if (fstat(STDERR_FILENO, &st) == 0) mode_ = st.st_mode;
    if (mode_ == 0 || S_ISREG(mode_) || S_ISSOCK(mode_)) return;
    // O_NONBLOCK belongs to an opened file, and other programs share ours.
    own_ =
        open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  }
  ~OpenStderr() {
    if (own_ >= 0) close(own_);
  }
  OpenStderr(const OpenStderr&) = delete;
  OpenStderr& operator=(const OpenStderr&) = delete;

  // Returns how many bytes were written without waiting.
  size_t Write(absl::string_view text) const {
    size_t done = 0;
    while (done < text.size()) {
      const ssize_t written = WriteSome(text.substr(done));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) break;
      done += static_cast<size_t>(written);
    }
    return done;
  }

 private:
  ssize_t WriteSome(absl::string_view text) const {
    if (S_ISREG(mode_)) return write(STDERR_FILENO, text.data(), text.size());
    // A pipe takes so many bytes as a whole or not at all.
    const size_t size = std::min<size_t>(text.size(), PIPE_BUF);
    if (S_ISSOCK(mode_)) {
      return send(STDERR_FILENO, text.data(), size, kNoWait);
    }
    // A write to a pipe without readers would raise a signal.
    pollfd asked = {.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
    if (poll(&asked, 1, 0) < 0) return -1;
    if ((asked.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) return 0;
    if (own_ >= 0) return write(own_, text.data(), size);
    // Another user's terminal cannot be opened again. It may have room for a
    // byte only.
    if ((asked.revents & POLLOUT) == 0) return 0;
    return write(STDERR_FILENO, text.data(), S_ISCHR(mode_) ? 1 : size);
  }

  mode_t mode_ = 0;  // 0: there is none
  int own_ = -1;
};

class StderrSink : public LogSink {
 public:
  size_t Take(absl::Span<const LogLine> lines) override {
    const OpenStderr out;
    rest_.erase(0, out.Write(rest_));
    if (!rest_.empty()) return 0;
    std::string text;
    for (const LogLine& line : lines) text += line.text;
    const size_t written = out.Write(text);
    if (written == 0) return 0;
    rest_ = text.substr(written);
    return lines.size();
  }

 private:
  std::string rest_;  // of lines whose beginning was written
};

// "Nov 25 17:03:09"
std::string SyslogTime() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%b %e %H:%M:%S", &parts);
  return text;
}

// syslog(3) waits for the journal.
class SyslogSink : public LogSink {
 public:
  explicit SyslogSink(std::string path) : path_(std::move(path)) {}
  ~SyslogSink() override { Close(); }

  size_t Take(absl::Span<const LogLine> lines) override {
    size_t taken = 0;
    while (taken < lines.size() && TakeOne(lines[taken])) ++taken;
    return taken;
  }

 private:
  bool TakeOne(const LogLine& line) {
    const std::string text =
        absl::StrCat("<", LOG_DAEMON | line.priority, ">", SyslogTime(),
                     " shufflefs[", getpid(), "]: ", line.text);
    if (socket_ < 0) return Connect() && Send(text);
    if (Send(text)) return true;
    const bool restarted = errno == ECONNREFUSED || errno == ENOTCONN ||
                           errno == ECONNRESET || errno == EPIPE;
    return restarted && Connect() && Send(text);
  }

  bool Connect() {
    if (ConnectBy(SOCK_DGRAM)) return true;
    return errno == EPROTOTYPE && ConnectBy(SOCK_STREAM);
  }

  bool ConnectBy(int type) {
    Close();
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    if (path_.size() >= sizeof(address.sun_path)) return false;
    memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
    type_ = type;
    socket_ = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket_ >= 0 &&
        connect(socket_, reinterpret_cast<const sockaddr*>(&address),
                sizeof(address)) == 0) {
      return true;
    }
    const int error = errno;
    Close();
    errno = error;
    return false;
  }

  // In a stream, a zero byte ends a line.
  bool Send(const std::string& text) {
    const size_t size = text.size() + (type_ == SOCK_STREAM ? 1 : 0);
    ssize_t sent = 0;
    do {
      sent = send(socket_, text.c_str(), size, kNoWait);
    } while (sent < 0 && errno == EINTR);
    if (sent == static_cast<ssize_t>(size)) return true;
    // The rest of a line must not look like another one.
    if (sent >= 0) Close();
    return false;
  }

  void Close() {
    if (socket_ >= 0) close(std::exchange(socket_, -1));
  }

  const std::string path_;
  int socket_ = -1;
  int type_ = SOCK_DGRAM;
};

}  // namespace

std::unique_ptr<LogSink> MakeStderrSink() {
  return std::make_unique<StderrSink>();
}

std::unique_ptr<LogSink> MakeSyslogSink(std::string path) {
  return std::make_unique<SyslogSink>(std::move(path));
}

}  // namespace shufflefs
