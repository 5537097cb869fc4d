// SPDX-License-Identifier: Apache-2.0
#include "fs/fuse/run_apart.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/base/files/unique_fd.h"

namespace shufflefs {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void Tell(int to, const std::string& text) {
  size_t told = 0;
  while (told < text.size()) {
    const ssize_t n = write(to, text.data() + told, text.size() - told);
    if (n < 0 && errno != EINTR) _exit(1);
    if (n > 0) told += static_cast<size_t>(n);
  }
  _exit(0);
}

}  // namespace

absl::optional<std::string> HearAll(
    int from, Clock::time_point until,
    const std::function<bool(std::string& text)>& take) {
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    pollfd ready{from, POLLIN, 0};
    const int found = poll(&ready, 1, std::max<int>(0, left.count()));
    if (found < 0 && errno == EINTR) continue;
    if (found <= 0) return absl::nullopt;
    const ssize_t got = read(from, buffer.data(), buffer.size());
    if (got == 0) return text;
    if (got < 0 && errno != EINTR) return absl::nullopt;
    if (got > 0) text.append(buffer.data(), static_cast<size_t>(got));
    if (!take(text)) return absl::nullopt;
  }
}

absl::optional<std::string> RunApart(const std::function<std::string()>& work,
                                     std::chrono::milliseconds wait) {
  const Clock::time_point until = Clock::now() + wait;
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return absl::nullopt;
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  const pid_t child = fork();
  if (child < 0) return absl::nullopt;
  if (child == 0) Tell(write_end.get(), work());
  write_end.reset();
  absl::optional<std::string> text =
      HearAll(read_end.get(), until,
              [](std::string& told) { return told.size() <= kMostApart; });
  if (text) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (status != 0) return absl::nullopt;
    return text;
  }
  // It may take long to die. It is reaped after its parent has ended.
  kill(child, SIGKILL);
  waitpid(child, nullptr, WNOHANG);
  return absl::nullopt;
}

}  // namespace shufflefs
