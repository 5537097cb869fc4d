// SPDX-License-Identifier: Apache-2.0
#include "fs/kernel_cache/mount_lister.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/fanotify.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "absl/memory/memory.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

constexpr size_t kBatchBytes = 128 * 1024;
constexpr char kOpen = 'o';
constexpr char kNext = 'n';
constexpr char kClose = 'c';
constexpr char kWatch = 'w';
constexpr char kLookUp = 'l';
constexpr int kGroup = STDERR_FILENO + 1;  // in the process

struct Question {
  int64_t directory = 0;
  char what = 0;
  std::array<char, PATH_MAX> path{};  // only the used part is sent
};

// The number of entries of the next batch; 0 at the end; -errno.
int64_t TakeBatchUp(int directory) {
  static std::array<char, kBatchBytes> buffer;
  const long got =
      syscall(SYS_getdents64, directory, buffer.data(), buffer.size());
  if (got < 0) return -errno;
  int64_t entries = 0;
  const dirent64* last = nullptr;
  for (size_t at = 0; at < static_cast<size_t>(got); at += last->d_reclen) {
    last = reinterpret_cast<const dirent64*>(buffer.data() + at);
    ++entries;
  }
  // The kernel caches dentries from a listing only while it sees them used. One
  // stat per batch is enough.
  struct stat st;
  if (last != nullptr) {
    fstatat(directory, last->d_name, &st, AT_SYMLINK_NOFOLLOW);
  }
  return entries;
}

int64_t Answer(const Question& question) {
  const int directory = static_cast<int>(question.directory);
  switch (question.what) {
    case kOpen: {
      const int fd =
          open(question.path.data(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      return fd < 0 ? -errno : fd;
    }
    case kNext:
      return TakeBatchUp(directory);
    case kClose:
      return close(directory);
    case kWatch:
      return fanotify_mark(kGroup, FAN_MARK_ADD | FAN_MARK_ONLYDIR,
                           FAN_OPEN | FAN_EVENT_ON_CHILD, AT_FDCWD,
                           question.path.data()) == 0
                 ? 0
                 : -errno;
    case kLookUp: {
      struct stat st;
      return lstat(question.path.data(), &st) == 0 ? 0 : -errno;
    }
    default:
      return -EINVAL;
  }
}

// The process: answers until the daemon closes its end of the socket.
[[noreturn]] void ListUntilClosed(int socket, int group) {
  prctl(PR_SET_NAME, "sfs-list");
  // The process must not keep any descriptor of the daemon open that a mount or
  // a reader depends on.
  const int first_closed = group < 0 ? kGroup : kGroup + 1;
  if (group >= 0) {
    // Out of the way of the descriptors that are replaced.
    const int away = fcntl(socket, F_DUPFD_CLOEXEC, kGroup + 1);
    if (away < 0 || dup2(group, kGroup) < 0) _exit(1);
    socket = away;
  }
  if (dup2(socket, STDIN_FILENO) < 0) _exit(1);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0 || dup2(null, STDOUT_FILENO) < 0 ||
      dup2(null, STDERR_FILENO) < 0) {
    _exit(1);
  }
  if (syscall(SYS_close_range, first_closed, ~0U, 0) != 0 || chdir("/") != 0) {
    _exit(1);
  }
  for (;;) {
    Question question;
    const ssize_t got = recv(STDIN_FILENO, &question, sizeof(question), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) _exit(0);
    const int64_t answer = Answer(question);
    if (send(STDIN_FILENO, &answer, sizeof(answer), MSG_NOSIGNAL) < 0) {
      _exit(0);
    }
  }
}

}  // namespace

MountLister::MountLister(pid_t pid, UniqueFd socket)
    : pid_(pid), socket_(std::move(socket)) {}

absl::StatusOr<std::unique_ptr<MountLister>> MountLister::Start(int group) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return ErrnoStatus(errno, "socketpair");
  }
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  const pid_t child = fork();
  if (child < 0) return ErrnoStatus(errno, "fork");
  if (child == 0) ListUntilClosed(theirs.get(), group);
  return absl::WrapUnique(new MountLister(child, std::move(ours)));
}

MountLister::~MountLister() {
  // The process may wait for the mount, so it is left to itself.
  shutdown(socket_.get(), SHUT_RDWR);
  waitpid(pid_, nullptr, WNOHANG);
}

int64_t MountLister::Ask(char what, int64_t directory,
                         const std::string& path) {
  Question question;
  if (path.size() >= question.path.size()) return -ENAMETOOLONG;
  question.directory = directory;
  question.what = what;
  std::memcpy(question.path.data(), path.c_str(), path.size() + 1);
  const size_t size = offsetof(Question, path) + path.size() + 1;
  MutexLock one_at_a_time(mu_);
  if (send(socket_.get(), &question, size, MSG_NOSIGNAL) < 0) return -errno;
  for (;;) {
    int64_t answer = 0;
    const ssize_t got = recv(socket_.get(), &answer, sizeof(answer), 0);
    if (got == sizeof(answer)) return answer;
    if (got < 0 && errno == EINTR) continue;
    return got < 0 ? -errno : -EPIPE;
  }
}

absl::Status MountLister::Watch(const std::string& path) {
  const int64_t answer = Ask(kWatch, 0, path);
  if (answer == 0) return absl::OkStatus();
  return ErrnoStatus(static_cast<int>(-answer), path);
}

void MountLister::LookUp(const std::string& path) { Ask(kLookUp, 0, path); }

MountLister::Listing::Listing(MountLister& lister, const std::string& path)
    : lister_(lister), directory_(lister.Ask(kOpen, 0, path)) {}

MountLister::Listing::~Listing() {
  if (directory_ >= 0) lister_.Ask(kClose, directory_, "");
}

absl::optional<size_t> MountLister::Listing::Next() {
  if (directory_ < 0) return absl::nullopt;
  const int64_t entries = lister_.Ask(kNext, directory_, "");
  if (entries <= 0) return absl::nullopt;
  return static_cast<size_t>(entries);
}

}  // namespace shufflefs
