// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/doctor/program_output.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/base/files/unique_fd.h"

namespace shufflefs {
namespace {

// Starts the program with its stdout at `to`. 0 if that is impossible.
pid_t StartWithOutput(const std::vector<std::string>& words, int to) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
                                   O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
                                   O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
  std::vector<char*> argv;
  for (const std::string& word : words) {
    argv.push_back(const_cast<char*>(word.c_str()));
  }
  argv.push_back(nullptr);
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? child : 0;
}

void KeepEnd(std::string& text) {
  if (text.size() <= kMostProgramOutput) return;
  text.erase(0, text.size() - kMostProgramOutput);
}

}  // namespace

std::string ProgramOutput(const std::vector<std::string>& words,
                          std::chrono::milliseconds wait) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point until = Clock::now() + wait;
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return "";
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  const pid_t child = StartWithOutput(words, write_end.get());
  if (child == 0) return "";
  write_end.reset();
  std::string text;
  bool whole = false;
  std::array<char, 4096> buffer;
  while (!whole) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    pollfd ready{read_end.get(), POLLIN, 0};
    const int found =
        poll(&ready, 1, std::max(0, static_cast<int>(left.count())));
    if (found == 0 || (found < 0 && errno != EINTR)) break;
    if (found < 0) continue;
    const ssize_t got = read(read_end.get(), buffer.data(), buffer.size());
    if (got > 0) text.append(buffer.data(), static_cast<size_t>(got));
    // Seldom, because it moves the rest.
    if (text.size() >= 2 * kMostProgramOutput) KeepEnd(text);
    whole = got == 0;
    if (got < 0 && errno != EINTR) break;
  }
  if (!whole) kill(child, SIGKILL);
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  KeepEnd(text);
  return whole ? text : "";
}

}  // namespace shufflefs
