// SPDX-License-Identifier: Apache-2.0
// A process that a test starts, stops and kills.
#ifndef SHUFFLEFS_TESTS_PEERS_CHILD_H_
#define SHUFFLEFS_TESTS_PEERS_CHILD_H_

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace shufflefs::peers {

class Child {
 public:
  // Its output is dropped, but for the first line, which First returns.
  explicit Child(std::vector<std::string> command) {
    int input[2];
    int output[2];
    if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0) {
      std::abort();
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input[0], 0);
    posix_spawn_file_actions_adddup2(&actions, output[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    std::vector<char*> arguments;
    for (std::string& word : command) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const int error = posix_spawnp(&pid_, arguments[0], &actions, nullptr,
                                   arguments.data(), environ);
    EXPECT_EQ(error, 0) << command[0];
    if (error != 0) pid_ = -1;
    posix_spawn_file_actions_destroy(&actions);
    close(input[0]);
    close(output[1]);
    input_ = input[1];
    output_ = output[0];
  }
  ~Child() {
    Kill();
    close(input_);
    close(output_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  std::string FirstLine() const {
    std::string line;
    for (char c; read(output_, &c, 1) == 1 && c != '\n';) line.push_back(c);
    return line;
  }
  // Its resident memory, in bytes.
  int64_t Memory() const {
    std::ifstream status(absl::StrCat("/proc/", pid_, "/status"));
    for (std::string word; status >> word;) {
      int64_t kilobytes = 0;
      if (word == "VmRSS:" && status >> kilobytes) return kilobytes << 10;
    }
    return 0;
  }
  // A process that is to stop has stopped when this returns.
  void Signal(int number) const {
    if (pid_ <= 0) return;
    kill(pid_, number);
    if (number == SIGSTOP) waitpid(pid_, nullptr, WUNTRACED);
  }
  void Kill() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
};

}  // namespace shufflefs::peers

#endif  // SHUFFLEFS_TESTS_PEERS_CHILD_H_
