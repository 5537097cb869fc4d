// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/daemon/ready_pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/config/value_text.h"

namespace shufflefs {

absl::StatusOr<ReadyPipe::Side> ReadyPipe::Fork() {
  MutexLock lock(mu_);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe");
  read_ = UniqueFd(ends[0]);
  write_ = UniqueFd(ends[1]);
  const pid_t child = fork();
  if (child < 0) return ErrnoStatus(errno, "fork");
  if (child > 0) {
    write_.reset();
    return Side::kParent;
  }
  read_.reset();
  setsid();
  return Side::kChild;
}

int ReadyPipe::AwaitChild(absl::FunctionRef<void()> died) {
  MutexLock lock(mu_);
  std::string word;
  char buffer[512];
  for (;;) {
    const ssize_t n = read(read_.get(), buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    word.append(buffer, n);
  }
  if (word == "+") return 0;
  if (word.empty()) died();
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
