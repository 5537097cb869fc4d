// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/run/passed_signals.h"

#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "absl/types/optional.h"
#include "core/base/status.h"
#include "mount-tools/daemon/interrupt.h"

namespace shufflefs {
namespace {

// The exit status of `child` if it has ended.
absl::optional<int> Ended(pid_t child) {
  int status = 0;
  pid_t found = 0;
  do {
    found = waitpid(child, &status, WNOHANG);
  } while (found < 0 && errno == EINTR);
  if (found == 0) return absl::nullopt;
  if (found < 0) return 1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

PassedSignals::PassedSignals() {
  // If our parent ignores it, the end of a child would not be reported.
  signal(SIGCHLD, SIG_DFL);
  // Those that our parent ignores are ignored in the command, too.
  ending_ = NotIgnored({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD});
  signals_ = NotIgnored({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD, SIGUSR1,
                         SIGUSR2, SIGALRM, SIGPIPE, SIGXCPU, SIGPWR});
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
}

PassedSignals::~PassedSignals() { Restore(); }

void PassedSignals::Restore() const {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

int PassedSignals::Came() const {
  const timespec at_once = {0, 0};
  for (;;) {
    const int number = sigtimedwait(&ending_, nullptr, &at_once);
    if (number <= 0) return 0;
    if (number != SIGCHLD) return number;
  }
}

absl::StatusOr<pid_t> PassedSignals::Start(
    const std::vector<std::string>& words, const How& how) const {
  std::vector<char*> argv;
  for (const std::string& word : words) {
    argv.push_back(const_cast<char*>(word.c_str()));
  }
  argv.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &before_);
  posix_spawnattr_setflags(
      &attributes, static_cast<short>(POSIX_SPAWN_SETSIGMASK |
                                      (how.apart ? POSIX_SPAWN_SETSID : 0)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (how.output_to_stderr) {
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  }
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv[0], &actions, &attributes,
                                 argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return ErrnoStatus(error, words[0]);
  return child;
}

int PassedSignals::AwaitAndPass(pid_t child) const {
  for (;;) {
    if (const absl::optional<int> status = Ended(child)) return *status;
    siginfo_t came;
    const int number = sigwaitinfo(&signals_, &came);
    const bool by_a_process =
        number > 0 && number != SIGCHLD && came.si_code <= 0;
    if (by_a_process && came.si_pid != child) kill(child, number);
  }
}

int PassedSignals::AwaitUnless(pid_t child, int& came) const {
  for (;;) {
    if (const absl::optional<int> status = Ended(child)) return *status;
    const int number = sigwaitinfo(&ending_, nullptr);
    if (number <= 0 || number == SIGCHLD) continue;
    came = number;
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    return 128 + number;
  }
}

}  // namespace shufflefs
