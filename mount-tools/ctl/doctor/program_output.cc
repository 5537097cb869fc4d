// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/doctor/program_output.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "absl/types/optional.h"
#include "core/base/files/unique_fd.h"
#include "fs/fuse/run_apart.h"

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
  absl::optional<std::string> text =
      HearAll(read_end.get(), until, [](std::string& told) {
        // Seldom, because it moves the rest.
        if (told.size() >= 2 * kMostProgramOutput) KeepEnd(told);
        return true;
      });
  if (!text) kill(child, SIGKILL);
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (!text) return "";
  KeepEnd(*text);
  return *std::move(text);
}

}  // namespace shufflefs
