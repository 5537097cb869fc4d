// SPDX-License-Identifier: Apache-2.0
#include "core/staging/tier/tier_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "core/base/files/mount_table.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

constexpr int kTries = 6;
constexpr std::chrono::milliseconds kPause(20);
constexpr size_t kLongest = 4096;

// The start of this process in ticks since the machine's start: field 22. The
// name before it may contain anything, so fields are counted from its closing
// bracket.
std::string StartTime() {
  std::ifstream in("/proc/self/stat");
  std::string line;
  std::getline(in, line);
  const size_t bracket = line.rfind(')');
  if (bracket == std::string::npos) return "?";
  size_t at = bracket + 1;
  for (int field = 3; field < 22 && at != std::string::npos; ++field) {
    at = line.find(' ', at + 1);
  }
  if (at == std::string::npos) return "?";
  return line.substr(at + 1, line.find(' ', at + 1) - at - 1);
}

std::string ReadText(int fd) {
  std::string text(kLongest, '\0');
  const ssize_t got = pread(fd, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return text;
}

bool WriteText(int fd, const std::string& text) {
  return ftruncate(fd, 0) == 0 && pwrite(fd, text.data(), text.size(), 0) ==
                                      static_cast<ssize_t>(text.size());
}

enum class Outcome { kHeld, kRefused, kFailed };

Outcome TryOnce(int fd, const std::string& identity) {
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
    if (!WriteText(fd, identity)) return Outcome::kFailed;
  } else if (errno != EWOULDBLOCK) {
    // This file system has no locks, so behave as if nobody else was there.
    return errno == EINTR ? Outcome::kRefused : Outcome::kHeld;
  }
  // Changing from exclusive to shared is not one step: another process may come
  // in between, and then the file has its text.
  if (flock(fd, LOCK_SH | LOCK_NB) == 0) {
    if (ReadText(fd) == identity) return Outcome::kHeld;
    flock(fd, LOCK_UN);
  }
  return Outcome::kRefused;
}

}  // namespace

std::string ProcessIdentity() {
  char space[64] = {};
  if (readlink("/proc/self/ns/pid", space, sizeof space - 1) < 0) space[0] = 0;
  const std::string boot = BootId();
  return absl::StrCat(boot.empty() ? "?" : boot, " ", space, " ", getpid(), " ",
                      StartTime(), "\n");
}

absl::StatusOr<UniqueFd> LockForProcess(int dir, const std::string& name,
                                        const std::string& path) {
  UniqueFd fd(openat(dir, name.c_str(),
                     O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                     0600));
  struct stat st;
  if (!fd.valid() || fstat(fd.get(), &st) != 0) return ErrnoStatus(errno, path);
  if (!S_ISREG(st.st_mode)) return ErrnoStatus(EPERM, path);
  const std::string identity = ProcessIdentity();
  // Retries, because another object of this process may just be the first, or
  // one of another process may just be refused.
  for (int i = 0; i < kTries; ++i) {
    if (i > 0) std::this_thread::sleep_for(kPause);
    const Outcome outcome = TryOnce(fd.get(), identity);
    if (outcome == Outcome::kHeld) return fd;
    if (outcome == Outcome::kFailed) return ErrnoStatus(errno, path);
  }
  return absl::FailedPreconditionError(absl::StrCat(
      path, ": another mount uses it; give each mount a tier.path of its own"));
}

}  // namespace shufflefs
