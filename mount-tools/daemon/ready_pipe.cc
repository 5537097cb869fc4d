// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/daemon/ready_pipe.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/config/value_text.h"
#include "mount-tools/daemon/interrupt.h"

namespace shufflefs {
namespace {

// What `child` writes until it closes its end. Of the blocked `signals` the one
// that `came` is passed on to it. A second one ends this process at once: the
// child may wait for a source that hangs.
std::string Hear(int from, pid_t child, const sigset_t& signals, int& came) {
  const UniqueFd arrived(signalfd(-1, &signals, SFD_CLOEXEC));
  std::string word;
  for (;;) {
    std::array<pollfd, 2> ready{
        {{from, POLLIN, 0}, {arrived.get(), POLLIN, 0}}};
    if (poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) return word;
    signalfd_siginfo signal;
    if ((ready[1].revents & POLLIN) != 0 &&
        read(arrived.get(), &signal, sizeof(signal)) == sizeof(signal)) {
      if (came != 0) _exit(128 + came);
      came = static_cast<int>(signal.ssi_signo);
      kill(child, came);  // it ignores what we ignore
    }
    if ((ready[0].revents & (POLLIN | POLLHUP)) == 0) continue;
    char buffer[512];
    const ssize_t n = read(from, buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return word;
    word.append(buffer, static_cast<size_t>(n));
  }
}

}  // namespace

absl::StatusOr<ReadyPipe::Side> ReadyPipe::Fork() {
  MutexLock lock(mu_);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe");
  read_ = UniqueFd(ends[0]);
  write_ = UniqueFd(ends[1]);
  child_ = fork();
  if (child_ < 0) return ErrnoStatus(errno, "fork");
  if (child_ > 0) {
    write_.reset();
    return Side::kParent;
  }
  read_.reset();
  setsid();
  return Side::kChild;
}

int ReadyPipe::AwaitChild(absl::FunctionRef<void()> died) {
  MutexLock lock(mu_);
  const sigset_t signals = NotIgnored({SIGINT, SIGTERM});
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  int came = 0;
  const std::string word = Hear(read_.get(), child_, signals, came);
  if (word == "+" && came == 0) return 0;
  if (came != 0) {
    // It may have mounted just before. A second signal ends this process here,
    // too.
    pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
    while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (word.empty()) died();
  if (came != 0) {
    fprintf(stderr, "shufflefs: interrupted; nothing is mounted\n");
    return 128 + came;
  }
  fprintf(stderr, "shufflefs: %s\n",
          word.empty() ? "the daemon died before it could mount; run it with "
                         "-f to see why"
                       : ShownLines(word.substr(1)).c_str());
  return 1;
}

void ReadyPipe::Succeed() { Finish('+', ""); }

void ReadyPipe::Fail(absl::string_view why) { Finish('-', why); }

void ReadyPipe::Finish(char code, absl::string_view text) {
  MutexLock lock(mu_);
  if (!write_.valid()) return;
  const std::string word = absl::StrCat(absl::string_view(&code, 1), text);
  if (write(write_.get(), word.data(), word.size()) < 0) {
    Log(LogLevel::kError, "the starting process is gone");
  }
  // From here on nobody waits for this process. Releases the terminal and the
  // working directory.
  InitLog(log_);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null >= 0) {
    const int last = log_.target == LogTarget::kStderr ? 1 : 2;
    for (int standard = 0; standard <= last; ++standard) dup2(null, standard);
    close(null);
  }
  if (chdir("/") != 0) Log(LogLevel::kWarning, "cannot leave the directory");
  write_.reset();
}

}  // namespace shufflefs
