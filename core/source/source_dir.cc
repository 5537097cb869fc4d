// SPDX-License-Identifier: Apache-2.0
#include "core/source/source_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/source/file_systems.h"

namespace shufflefs {
namespace {

constexpr int kAlways = O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
constexpr int kWriting = O_CREAT | O_TRUNC | O_APPEND;
// The longest path for one openat2. Longer paths are walked in pieces of whole
// components (a component has at most 255 bytes).
constexpr size_t kPathPiece = PATH_MAX - NAME_MAX - 2;
constexpr int kAgainLimit = 64;  // for openat2's EAGAIN: a rename raced with it

open_how How(int flags) {
  open_how how = {};
  how.flags = static_cast<unsigned>(flags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  return how;
}

int Openat2(int dir, const char* path, int flags) {
  open_how how = How(flags);
  return static_cast<int>(syscall(SYS_openat2, dir, path, &how, sizeof how));
}

// openat that retries on EINTR. Returns -errno on failure.
int Openat(int dir, const char* path, int flags) {
  for (;;) {
    int fd = openat(dir, path, flags);
    if (fd >= 0) return fd;
    if (errno != EINTR) return -errno;
  }
}

absl::Status BadPath(absl::string_view path) {
  return ErrnoStatus(EINVAL, absl::StrCat(path, ": not a path in the source"));
}

bool IsLink(int dir, const char* name) {
  struct stat st;
  return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISLNK(st.st_mode);
}

absl::StatusOr<struct stat> StatHeld(int fd, absl::string_view path) {
  struct stat st;
  if (fstatat(fd, "", &st, AT_EMPTY_PATH) != 0) return ErrnoStatus(errno, path);
  return st;
}

}  // namespace

absl::StatusOr<SourceDir> SourceDir::At(const std::string& path) {
  return At(path, path);
}

absl::StatusOr<SourceDir> SourceDir::At(const std::string& path,
                                        const std::string& reached) {
  ASSIGN_OR_RETURN(SourceDir dir, OpenAt(path, reached, Lookup::kKernel));
  // Old sandboxes answer EPERM to system calls that they do not know.
  int fd = Openat2(dir.fd(), ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    dir.lookup_ = Lookup::kComponents;
  } else {
    close(fd);
  }
  return dir;
}

absl::StatusOr<SourceDir> SourceDir::At(const std::string& path,
                                        Lookup lookup) {
  return OpenAt(path, path, lookup);
}

absl::StatusOr<SourceDir> SourceDir::OpenAt(const std::string& path,
                                            const std::string& reached,
                                            Lookup lookup) {
  int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  int noatime = O_NOATIME;
  int fd = Openat(AT_FDCWD, reached.c_str(), flags | noatime);
  if (fd == -EPERM) {
    noatime = 0;
    fd = Openat(AT_FDCWD, reached.c_str(), flags);
  }
  if (fd < 0) return ErrnoStatus(-fd, path);
  SourceDir dir(path, UniqueFd(fd), lookup, noatime);
  if (HasIdmap(fd)) dir.overflow_ids_ = OverflowIds::OfIdmapped();
  return dir;
}

SourceDir::Place SourceDir::PlaceOf(int fd) {
  Place place;
  struct stat st;
  if (fstat(fd, &st) == 0) place.device = st.st_dev;
  struct statfs fs;
  if (fstatfs(fd, &fs) == 0) place.fs_type = static_cast<uint64_t>(fs.f_type);
  return place;
}

bool SourceDir::IsPath(absl::string_view path) {
  if (path.empty()) return true;
  if (path.find('\0') != absl::string_view::npos) return false;
  for (;;) {
    size_t slash = path.find('/');
    absl::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == absl::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

open_how SourceDir::HowToRead() const {
  return How(O_RDONLY | kAlways | noatime_);
}

absl::StatusOr<UniqueFd> SourceDir::HoldOnOwnMount(
    const std::string& path) const {
  open_how how = How(O_PATH | O_NOFOLLOW | O_CLOEXEC);
  how.resolve |= RESOLVE_NO_XDEV;
  const char* const name = path.empty() ? "." : path.c_str();
  UniqueFd held(
      static_cast<int>(syscall(SYS_openat2, fd(), name, &how, sizeof how)));
  if (held.valid()) return held;
  const bool is_unsure = errno == EAGAIN || errno == ENAMETOOLONG;
  return ErrnoStatus(is_unsure ? EXDEV : errno, path);
}

int SourceDir::ResolveShort(int dir, const char* path, int flags) const {
  for (int again = 0;;) {
    int fd = Openat2(dir, path, flags);
    if (fd >= 0) return fd;
    if (errno == EAGAIN && ++again < kAgainLimit) continue;
    if (errno != EINTR) return -errno;
  }
}

int SourceDir::ResolveComponents(const std::string& path, int flags) const {
  UniqueFd walked;
  int dir = fd();
  size_t begin = 0;
  for (size_t slash = path.find('/'); slash != std::string::npos;
       slash = path.find('/', begin)) {
    std::string part = path.substr(begin, slash - begin);
    UniqueFd next(openat(dir, part.c_str(),
                         O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next.valid()) {
      int error = errno;
      return error == ENOTDIR && IsLink(dir, part.c_str()) ? -ELOOP : -error;
    }
    walked = std::move(next);
    dir = walked.get();
    begin = slash + 1;
  }
  const char* last = path.c_str() + begin;
  int opened = Openat(dir, last, flags | O_NOFOLLOW);
  // With O_DIRECTORY the kernel returns ENOTDIR for a link that it did not
  // follow.
  return opened == -ENOTDIR && IsLink(dir, last) ? -ELOOP : opened;
}

int SourceDir::Resolve(const std::string& path, int flags) const {
  if (path.empty()) return Openat(fd(), ".", flags & ~O_NOFOLLOW);
  if (lookup_ == Lookup::kComponents) return ResolveComponents(path, flags);
  if (path.size() < PATH_MAX) return ResolveShort(fd(), path.c_str(), flags);
  UniqueFd walked;
  size_t begin = 0;
  while (path.size() - begin >= PATH_MAX) {
    size_t slash = path.rfind('/', begin + kPathPiece);
    if (slash == std::string::npos || slash < begin) return -ENAMETOOLONG;
    int next = ResolveShort(walked.valid() ? walked.get() : fd(),
                            path.substr(begin, slash - begin).c_str(),
                            O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (next < 0) return next;
    walked = UniqueFd(next);
    begin = slash + 1;
  }
  return ResolveShort(walked.get(), path.c_str() + begin, flags);
}

absl::StatusOr<UniqueFd> SourceDir::Open(absl::string_view path,
                                         int flags) const {
  if ((flags & O_ACCMODE) != O_RDONLY || (flags & kWriting) != 0 ||
      (flags & O_TMPFILE) == O_TMPFILE) {
    return ErrnoStatus(EROFS, absl::StrCat(path, ": the source is read-only"));
  }
  if (!IsPath(path)) return BadPath(path);
  std::string name(path);
  // With O_PATH, openat2 refuses flags that have no meaning there.
  bool path_only = (flags & O_PATH) != 0;
  int always = path_only ? O_CLOEXEC : kAlways;
  int noatime = path_only ? 0 : noatime_;
  int fd = Resolve(name, flags | always | noatime);
  // The process does not own this file.
  if (fd == -EPERM && noatime != 0) fd = Resolve(name, flags | always);
  if (fd < 0) return ErrnoStatus(-fd, path);
  return UniqueFd(fd);
}

absl::StatusOr<struct stat> SourceDir::Stat(absl::string_view path) const {
  if (!IsPath(path)) return BadPath(path);
  ASSIGN_OR_RETURN(UniqueFd entry, Hold(path));
  return StatHeld(entry.get(), path);
}

absl::StatusOr<SourceDir::Link> SourceDir::ReadLink(
    absl::string_view path) const {
  if (!IsPath(path)) return BadPath(path);
  ASSIGN_OR_RETURN(UniqueFd entry, Hold(path));
  Link link;
  ASSIGN_OR_RETURN(link.attributes, StatHeld(entry.get(), path));
  if (!S_ISLNK(link.attributes.st_mode)) {
    return ErrnoStatus(EINVAL, absl::StrCat(path, ": not a symbolic link"));
  }
  link.target.resize(PATH_MAX);
  ssize_t length =
      readlinkat(entry.get(), "", link.target.data(), link.target.size());
  if (length < 0) return ErrnoStatus(errno, path);
  link.target.resize(static_cast<size_t>(length));
  return link;
}

absl::StatusOr<UniqueFd> SourceDir::HoldIn(const UniqueFd& dir,
                                           absl::string_view name) const {
  if (name.empty() || absl::StrContains(name, '/') || !IsPath(name)) {
    return BadPath(name);
  }
  int fd = Openat(dir.get(), std::string(name).c_str(),
                  O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(-fd, name);
  return UniqueFd(fd);
}

// A descriptor of whatever is at `path`, also of a link. Reads nothing.
absl::StatusOr<UniqueFd> SourceDir::Hold(absl::string_view path) const {
  int fd = Resolve(std::string(path), O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(-fd, path);
  return UniqueFd(fd);
}

}  // namespace shufflefs
