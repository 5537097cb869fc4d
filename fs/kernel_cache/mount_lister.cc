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
constexpr char kCached = 'k';
constexpr int kGroup = STDERR_FILENO + 1;  // in the process

// Paths of one question, and how many: the answer has a bit for each.
constexpr size_t kPathBytes = size_t{4} * PATH_MAX;
constexpr size_t kMostPaths = 62;

struct Question {
  int64_t directory = 0;
  char what = 0;
  std::array<char, kPathBytes> path{};  // only the used part is sent
};

// As in linux/mman.h since Linux 6.5.
struct CacheRange {
  uint64_t offset = 0;
  uint64_t length = 0;  // 0: to the end
};
struct CachePages {
  uint64_t cached = 0;
  uint64_t dirty = 0;
  uint64_t written_back = 0;
  uint64_t evicted = 0;
  uint64_t recently_evicted = 0;
};
constexpr long kCacheStat = 451;

bool IsCached(const char* path) {
  const UniqueFd file(
      open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat st;
  if (file.get() < 0 || fstat(file.get(), &st) != 0 || !S_ISREG(st.st_mode)) {
    return false;
  }
  CacheRange all;
  CachePages pages;
  if (syscall(kCacheStat, file.get(), &all, &pages, 0) != 0) return false;
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return pages.cached * page >= static_cast<uint64_t>(st.st_size);
}

// The bit i of the i-th of these paths. An empty one ends them.
int64_t CachedOf(const Question& question) {
  uint64_t bits = 0;
  const char* path = question.path.data();
  for (uint64_t bit = 1; *path != 0; bit <<= 1) {
    if (IsCached(path)) bits |= bit;
    path += std::strlen(path) + 1;
  }
  return static_cast<int64_t>(bits);
}

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
    case kCached:
      return CachedOf(question);
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
  if (path.size() + 1 >= question.path.size()) return -ENAMETOOLONG;
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

std::vector<bool> MountLister::AreCached(
    const std::vector<std::string>& paths) {
  std::vector<bool> cached(paths.size());
  for (size_t begin = 0; begin < paths.size();) {
    std::string asked;
    size_t end = begin;
    while (end < paths.size() && end - begin < kMostPaths &&
           asked.size() + paths[end].size() + 2 < kPathBytes) {
      asked += paths[end++];
      asked += '\0';
    }
    if (end == begin) ++end;  // too long: not cached
    const int64_t bits = asked.empty() ? 0 : Ask(kCached, 0, asked);
    if (bits < 0) return cached;
    for (size_t i = begin; i < end; ++i) {
      cached[i] = (bits >> (i - begin) & 1) != 0;
    }
    begin = end;
  }
  return cached;
}

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
