// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/run/passed_signals.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "absl/types/optional.h"
#include "core/base/status.h"

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
  sigemptyset(&signals_);
  for (const int each : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD}) {
    sigaddset(&signals_, each);
  }
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
}

PassedSignals::~PassedSignals() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

absl::StatusOr<pid_t> PassedSignals::Start(
    const std::vector<std::string>& words, bool apart) const {
  std::vector<char*> argv;
  for (const std::string& word : words) {
    argv.push_back(const_cast<char*>(word.c_str()));
  }
  argv.push_back(nullptr);
  posix_spawnattr_t how;
  posix_spawnattr_init(&how);
  posix_spawnattr_setsigmask(&how, &before_);
  posix_spawnattr_setflags(
      &how, static_cast<short>(POSIX_SPAWN_SETSIGMASK |
                               (apart ? POSIX_SPAWN_SETSID : 0)));
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, argv[0], nullptr, &how, argv.data(), environ);
  posix_spawnattr_destroy(&how);
  if (error != 0) return ErrnoStatus(error, words[0]);
  return child;
}

int PassedSignals::AwaitAndPass(pid_t child) const {
  for (;;) {
    siginfo_t came;
    const int number = sigwaitinfo(&signals_, &came);
    if (number == SIGCHLD) {
      if (const absl::optional<int> status = Ended(child)) return *status;
      continue;
    }
    const bool by_a_process = number > 0 && came.si_code <= 0;
    if (by_a_process && came.si_pid != child) kill(child, number);
  }
}

int PassedSignals::AwaitUnless(pid_t child, int& came) const {
  for (;;) {
    const int number = sigwaitinfo(&signals_, nullptr);
    if (number > 0 && number != SIGCHLD) {
      came = number;
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
      return 128 + number;
    }
    if (const absl::optional<int> status = Ended(child)) return *status;
  }
}

}  // namespace shufflefs
