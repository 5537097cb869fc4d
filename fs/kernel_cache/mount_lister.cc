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
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
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

// Paths of one question, and how many: the answer has a bit for each. Others
// wait for their turn meanwhile.
constexpr size_t kPathBytes = size_t{4} * PATH_MAX;
constexpr size_t kMostPaths = 16;

// How soon an asker learns that it is to stop.
constexpr std::chrono::milliseconds kNoticeStop(10);

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
// So many files in a row about which the kernel may not speak to this user:
// then it is asked no more.
constexpr int kMostRefused = 64;

// The bytes of the file that the kernel has; -errno.
int64_t CachedBytes(int file) {
  CacheRange all;
  CachePages pages;
  if (syscall(kCacheStat, file, &all, &pages, 0) != 0) return -errno;
  return static_cast<int64_t>(pages.cached) * sysconf(_SC_PAGESIZE);
}

bool IsCached(const char* path, int* refused) {
  const UniqueFd file(
      open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat st;
  if (file.get() < 0 || fstat(file.get(), &st) != 0 || !S_ISREG(st.st_mode)) {
    return false;
  }
  const int64_t bytes = CachedBytes(file.get());
  *refused = bytes == -EPERM ? *refused + 1 : 0;
  return bytes >= st.st_size;
}

// The bit i of the i-th of these paths. An empty one ends them. -errno if the
// kernel does not say such things (before Linux 6.5), or not to this process.
int64_t CachedOf(const char* path) {
  static const int64_t can_tell = CachedBytes(STDOUT_FILENO);
  static int refused = 0;
  if (can_tell < 0) return can_tell;
  uint64_t bits = 0;
  for (uint64_t bit = 1; *path != 0; bit <<= 1) {
    if (IsCached(path, &refused)) bits |= bit;
    path += std::strlen(path) + 1;
  }
  return refused < kMostRefused ? static_cast<int64_t>(bits) : -EPERM;
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

// What the process answers. `path`: of the question.
int64_t Answer(char what, int directory, const char* path) {
  switch (what) {
    case kOpen: {
      const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      return fd < 0 ? -errno : fd;
    }
    case kNext:
      return TakeBatchUp(directory);
    case kClose:
      return close(directory);
    case kWatch:
      return fanotify_mark(kGroup, FAN_MARK_ADD | FAN_MARK_ONLYDIR,
                           FAN_OPEN | FAN_EVENT_ON_CHILD, AT_FDCWD, path) == 0
                 ? 0
                 : -errno;
    case kLookUp: {
      const UniqueFd passed(directory);
      struct stat st;
      return fstatat(directory, path, &st, AT_SYMLINK_NOFOLLOW) == 0 ? 0
                                                                     : -errno;
    }
    case kCached:
      return CachedOf(path);
    default:
      return -EINVAL;
  }
}

// Leaves the process nothing open but standard streams, the socket as its
// standard input, and the group. A mount or a reader may depend on any other
// descriptor of the daemon. Returns false on an error.
bool KeepOnly(int socket, int group) {
  const int first_closed = group < 0 ? kGroup : kGroup + 1;
  if (group >= 0) {
    // Out of the way of the descriptors that are replaced.
    const int away = fcntl(socket, F_DUPFD_CLOEXEC, kGroup + 1);
    if (away < 0 || dup2(group, kGroup) < 0) return false;
    socket = away;
  }
  if (dup2(socket, STDIN_FILENO) < 0) return false;
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  return null >= 0 && dup2(null, STDOUT_FILENO) >= 0 &&
         dup2(null, STDERR_FILENO) >= 0 &&
         syscall(SYS_close_range, first_closed, ~0U, 0) == 0 && chdir("/") == 0;
}

}  // namespace

struct MountLister::Question {
  // A descriptor: of the process, except for kLookUp. For that it is one of the
  // daemon, which is passed on.
  int64_t directory = 0;
  char what = 0;
  std::array<char, kPathBytes> path{};

  // Only the used part is sent.
  size_t size() const { return offsetof(Question, path) + used + 1; }
  size_t used = 0;  // of the path
};

namespace {

// One message, and a descriptor beside it.
class Message {
 public:
  Message(void* bytes, size_t size) : piece_{bytes, size} {
    header_.msg_iov = &piece_;
    header_.msg_iovlen = 1;
    header_.msg_control = beside_.data();
    header_.msg_controllen = beside_.size();
  }

  ssize_t Send(int socket, int passed) {
    if (passed < 0) {
      header_.msg_controllen = 0;
    } else {
      cmsghdr* const beside = CMSG_FIRSTHDR(&header_);
      beside->cmsg_level = SOL_SOCKET;
      beside->cmsg_type = SCM_RIGHTS;
      beside->cmsg_len = CMSG_LEN(sizeof(passed));
      std::memcpy(CMSG_DATA(beside), &passed, sizeof(passed));
    }
    return sendmsg(socket, &header_, MSG_NOSIGNAL);
  }

  // `passed`: -1 if there is none.
  ssize_t Receive(int socket, int* passed) {
    const ssize_t got = recvmsg(socket, &header_, MSG_CMSG_CLOEXEC);
    const cmsghdr* const beside = got > 0 ? CMSG_FIRSTHDR(&header_) : nullptr;
    *passed = -1;
    if (beside != nullptr && beside->cmsg_type == SCM_RIGHTS) {
      std::memcpy(passed, CMSG_DATA(beside), sizeof(*passed));
    }
    return got;
  }

 private:
  iovec piece_;
  msghdr header_{};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> beside_{};
};

}  // namespace

// The process: answers until the daemon closes its end of the socket.
void MountLister::ListUntilClosed(int socket, int group) {
  prctl(PR_SET_NAME, "sfs-list");
  if (!KeepOnly(socket, group)) _exit(1);
  for (;;) {
    Question question;
    int passed = -1;
    const ssize_t got =
        Message(&question, sizeof(question)).Receive(STDIN_FILENO, &passed);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) _exit(0);
    if (question.what == kLookUp) question.directory = passed;
    const int64_t answer =
        Answer(question.what, static_cast<int>(question.directory),
               question.path.data());
    if (send(STDIN_FILENO, &answer, sizeof(answer), MSG_NOSIGNAL) < 0) {
      _exit(0);
    }
  }
}

MountLister::MountLister(pid_t pid, UniqueFd socket)
    : pid_(pid), socket_(std::move(socket)) {}

absl::StatusOr<std::unique_ptr<MountLister>> MountLister::Start(int group) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return ErrnoStatus(errno, "socketpair");
  }
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  const timeval look{.tv_sec = 0,
                     .tv_usec = std::chrono::microseconds(kNoticeStop).count()};
  if (setsockopt(ours.get(), SOL_SOCKET, SO_RCVTIMEO, &look, sizeof(look)) !=
      0) {
    return ErrnoStatus(errno, "setsockopt");
  }
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

void MountLister::Stop() { shutdown(socket_.get(), SHUT_RDWR); }

bool MountLister::Patience::Ends() const {
  return stop.stop_requested() || std::chrono::steady_clock::now() >= until;
}

MountLister::Patience MountLister::Within(std::stop_token stop) {
  return {std::move(stop), std::chrono::steady_clock::now() + kWithin};
}

bool MountLister::BeginTurn(const Patience& patience) {
  MutexLock lock(mu_);
  while (is_asked_) {
    if (patience.Ends()) return false;
    turn_ended_.WaitFor(mu_, kNoticeStop);
  }
  is_asked_ = true;
  return true;
}

void MountLister::EndTurn() {
  MutexLock lock(mu_);
  is_asked_ = false;
  turn_ended_.SignalOne();
}

int64_t MountLister::Receive(const Patience& patience) {
  for (;;) {
    int64_t answer = 0;
    const ssize_t got = recv(socket_.get(), &answer, sizeof(answer), 0);
    if (got == sizeof(answer)) return answer;
    if (got >= 0 || (errno != EINTR && errno != EAGAIN)) return -EPIPE;
    if (patience.Ends()) return -ECANCELED;
  }
}

bool MountLister::ReceiveLeftAlone(const Patience& patience) {
  for (;;) {
    while (!left_alone_.empty()) {
      const int64_t answer = Receive(patience);
      if (answer == -ECANCELED) return false;
      const char what = left_alone_.front();
      left_alone_.pop_front();
      if (what != kOpen || answer < 0) continue;
      MutexLock lock(mu_);
      to_close_.push_back(answer);  // nobody will list this directory
    }
    std::vector<int64_t> directories;
    {
      MutexLock lock(mu_);
      directories.swap(to_close_);
    }
    if (directories.empty()) return true;
    for (const int64_t directory : directories) {
      Question close;
      close.directory = directory;
      close.what = kClose;
      // If the process is gone, the next question finds out, too.
      if (!Send(close)) return true;
      left_alone_.push_back(kClose);
    }
  }
}

bool MountLister::Send(Question& question) {
  const int passed =
      question.what == kLookUp ? static_cast<int>(question.directory) : -1;
  return Message(&question, question.size()).Send(socket_.get(), passed) >= 0;
}

int64_t MountLister::Exchange(Question& question, const Patience& patience) {
  if (!ReceiveLeftAlone(patience)) return -EAGAIN;
  if (!Send(question)) return -EPIPE;
  const int64_t answer = Receive(patience);
  if (answer == -ECANCELED) left_alone_.push_back(question.what);
  return answer;
}

int64_t MountLister::Ask(char what, int64_t directory, const std::string& path,
                         const Patience& patience) {
  Question question;
  if (path.size() + 1 >= question.path.size()) return -ENAMETOOLONG;
  question.directory = directory;
  question.what = what;
  std::memcpy(question.path.data(), path.c_str(), path.size() + 1);
  question.used = path.size();
  if (!BeginTurn(patience)) return -EAGAIN;
  const int64_t answer = Exchange(question, patience);
  EndTurn();
  return answer;
}

absl::Status MountLister::Watch(const std::string& path) {
  const int64_t answer =
      Ask(kWatch, 0, path, {{}, std::chrono::steady_clock::time_point::max()});
  if (answer == 0) return absl::OkStatus();
  return ErrnoStatus(static_cast<int>(-answer), path);
}

bool MountLister::LookUp(int directory, const std::string& name) {
  return Ask(kLookUp, directory, name, Within()) == 0;
}

bool MountLister::IsSettled() {
  const int64_t answer = Ask(kClose, -1, "", Within());
  return answer != -ECANCELED && answer != -EAGAIN;
}

void MountLister::Close(int64_t directory) {
  if (Ask(kClose, directory, "", Within()) != -EAGAIN) return;
  MutexLock lock(mu_);
  to_close_.push_back(directory);  // with the next question
}

std::vector<bool> MountLister::AreCached(const std::vector<std::string>& paths,
                                         std::stop_token stop) {
  std::vector<bool> cached(paths.size());
  for (size_t begin = 0; begin < paths.size();) {
    if (!tells_cached_) return {};
    std::string asked;
    size_t end = begin;
    while (end < paths.size() && end - begin < kMostPaths &&
           asked.size() + paths[end].size() + 2 < kPathBytes) {
      asked += paths[end++];
      asked += '\0';
    }
    if (end == begin) ++end;  // too long: not cached
    const int64_t bits =
        asked.empty() ? 0 : Ask(kCached, 0, asked, Within(stop));
    if (bits == -ENOSYS || bits == -EPERM) tells_cached_ = false;
    if (bits < 0) return {};
    for (size_t i = begin; i < end; ++i) {
      cached[i] = (bits >> (i - begin) & 1) != 0;
    }
    begin = end;
  }
  return cached;
}

MountLister::Listing::Listing(MountLister& lister, const std::string& path)
    : lister_(lister), directory_(lister.Ask(kOpen, 0, path, Within())) {}

MountLister::Listing::~Listing() {
  if (directory_ >= 0) lister_.Close(directory_);
}

absl::optional<size_t> MountLister::Listing::Next() {
  if (directory_ < 0) return absl::nullopt;
  const int64_t entries = lister_.Ask(kNext, directory_, "", Within());
  gave_up_ = entries == -ECANCELED;
  if (entries <= 0) return absl::nullopt;
  return static_cast<size_t>(entries);
}

}  // namespace shufflefs
