// SPDX-License-Identifier: Apache-2.0
#include "core/engine/state_dir.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "xxhash.h"

namespace shufflefs {
namespace {

// Another process may hold the lock for a moment only to look at it.
constexpr int kLeastAttempts = 3;
constexpr int kLockAttempts = 250;
constexpr std::chrono::milliseconds kLockEvery{20};

absl::StatusOr<std::string> DefaultRoot() {
  if (geteuid() == 0) return "/var/lib/shufflefs";
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && state[0] == '/') {
    return absl::StrCat(state, "/shufflefs");
  }
  const char* home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') {
    return absl::StrCat(home, "/.local/state/shufflefs");
  }
  return absl::FailedPreconditionError(
      "HOME names no directory, so this mount has no place for its state: "
      "name one with -o state=DIR");
}

}  // namespace

absl::StatusOr<std::string> StatePath(const MountConfig& config) {
  if (!config.state.empty()) return config.state;
  ASSIGN_OR_RETURN(const std::string root, DefaultRoot());
  // No path contains NUL, so the two cannot run into each other.
  const std::string key = absl::StrCat(
      config.source, absl::string_view("\0", 1), config.mountpoint);
  const uint64_t hash = XXH3_64bits(key.data(), key.size());
  return absl::StrCat(root, "/", absl::Hex(hash, absl::kZeroPad16));
}

pid_t HolderOf(const std::string& path) {
  struct stat st;
  // A link would lead to a lock of another program.
  if (lstat(LockPath(path).c_str(), &st) != 0 || !S_ISREG(st.st_mode)) return 0;
  const std::string inode =
      absl::StrFormat("%02x:%02x:%u", major(st.st_dev), minor(st.st_dev),
                      static_cast<uint64_t>(st.st_ino));
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    const std::vector<std::string> fields =
        absl::StrSplit(line, ' ', absl::SkipEmpty());
    pid_t pid = 0;
    // "1: FLOCK ADVISORY WRITE 4711 08:01:1234 0 EOF"; "->" marks a waiter.
    if (fields.size() >= 6 && fields[1] == "FLOCK" && fields[5] == inode &&
        absl::SimpleAtoi(fields[4], &pid)) {
      return pid;
    }
  }
  return 0;
}

namespace {

// To read. A mount may have told the path, so anything may be there.
absl::StatusOr<UniqueFd> OpenLock(const std::string& path) {
  return FilePlace(LockPath(path)).Open(O_RDONLY);
}

// Also if the holder cannot be seen from here: it is in another container, or
// the file system shows the lock under another device number, as btrfs does.
bool IsHeld(const std::string& path) {
  const absl::StatusOr<UniqueFd> fd = OpenLock(path);
  return fd.ok() && flock(fd->get(), LOCK_SH | LOCK_NB) != 0 &&
         errno == EWOULDBLOCK;
}

}  // namespace

bool HolderIsDying(const std::string& path) {
  const pid_t pid = HolderOf(path);
  if (pid == 0) return !IsHeld(path);
  std::ifstream status(absl::StrCat("/proc/", pid, "/status"));
  for (std::string line; std::getline(status, line);) {
    absl::string_view rest = line;
    // Its first thread has ended, but others have not.
    if (absl::ConsumePrefix(&rest, "State:")) {
      rest = absl::StripLeadingAsciiWhitespace(rest);
      if (absl::StartsWith(rest, "Z") || absl::StartsWith(rest, "X")) {
        return true;
      }
    }
    uint64_t pending = 0;
    if ((absl::ConsumePrefix(&rest, "SigPnd:") ||
         absl::ConsumePrefix(&rest, "ShdPnd:")) &&
        absl::SimpleHexAtoi(absl::StripAsciiWhitespace(rest), &pending) &&
        (pending >> (SIGKILL - 1) & 1) != 0) {
      return true;
    }
  }
  return false;
}

bool DaemonIsDying(const std::string& path, absl::string_view mount) {
  std::string own;
  if (const absl::StatusOr<UniqueFd> lock = OpenLock(path); lock.ok()) {
    std::getline(std::ifstream(absl::StrCat("/proc/self/fd/", lock->get())),
                 own);
  }
  return !mount.empty() && own == mount && HolderIsDying(path);
}

namespace {

// Takes the lock. Blocks while its holder is dying. Returns 0, or an errno:
// EWOULDBLOCK if another process keeps it.
int Lock(int fd, const std::string& path) {
  for (int attempt = 0;; ++attempt) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return 0;
    if (errno != EWOULDBLOCK) return errno;
    if (attempt >= kLockAttempts ||
        (attempt >= kLeastAttempts && !HolderIsDying(path))) {
      return EWOULDBLOCK;
    }
    std::this_thread::sleep_for(kLockEvery);
  }
}

}  // namespace

bool StateDir::passed_through() const {
  return FilePlace(dir_, kPassedThroughFile).Open(O_RDONLY).ok();
}

void StateDir::SetPassedThrough(bool passed) const {
  const FilePlace place(dir_, kPassedThroughFile);
  const absl::Status done =
      passed ? place.Open(O_WRONLY | O_CREAT).status() : place.Remove();
  if (!done.ok()) Log(LogLevel::kWarning, done.message());
}

void StateDir::SetMount(absl::string_view mount) const {
  const std::string line = absl::StrCat(mount, "\n");
  const bool saved = ftruncate(lock_.get(), 0) == 0 &&
                     pwrite(lock_.get(), line.data(), line.size(), 0) ==
                         static_cast<ssize_t>(line.size());
  if (!saved) {
    Log(LogLevel::kWarning,
        ErrnoStatus(errno,
                    absl::StrCat(LockPath(path()), ": cannot be written"))
            .message());
  }
}

absl::StatusOr<StateDir> StateDir::Open(const std::string& path) {
  absl::StatusOr<OwnedDir> dir = OwnedDir::Make(path);
  if (!dir.ok()) {
    return Annotate(
        dir.status(),
        absl::StrCat("state ", path, " (-o state=DIR names another place)"));
  }
  const FilePlace place(*dir, kLockFile);
  ASSIGN_OR_RETURN(UniqueFd lock, place.Open(O_RDWR | O_CREAT));
  if (const int error = Lock(lock.get(), path); error != 0) {
    if (error != EWOULDBLOCK) return ErrnoStatus(error, place.path());
    return absl::FailedPreconditionError(absl::StrCat(
        path,
        ": another shufflefs uses this state; give each mount its own "
        "with -o state=DIR"));
  }
  return StateDir(*std::move(dir), std::move(lock));
}

}  // namespace shufflefs
