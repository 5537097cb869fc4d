// SPDX-License-Identifier: Apache-2.0
#include "core/base/files/dir_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

constexpr int kDirFilesFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

// Refuses a directory that is `top` or lies below it. Walks up from the
// directory, because names may be links.
absl::Status CheckOutside(int fd, int top, const std::string& path) {
  struct stat wanted;
  struct stat here;
  if (fstat(top, &wanted) != 0 || fstat(fd, &here) != 0) {
    return ErrnoStatus(errno, path);
  }
  UniqueFd walked;
  while (!SameFile(here, wanted)) {
    UniqueFd up(openat(walked.valid() ? walked.get() : fd, "..",
                       O_PATH | O_DIRECTORY | O_CLOEXEC));
    struct stat above;
    if (!up.valid() || fstat(up.get(), &above) != 0) {
      return ErrnoStatus(errno, absl::StrCat(path, ": a directory above it"));
    }
    if (SameFile(above, here)) return absl::OkStatus();
    here = above;
    walked = std::move(up);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(path,
                   ": lies in the source, which is never written to; give a "
                   "directory outside"));
}

// The directory that holds `path`.
std::string ParentOf(const std::string& path) {
  const size_t slash = path.find_last_of('/', path.find_last_not_of('/'));
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

}  // namespace

absl::StatusOr<DirFiles> DirFiles::Open(const std::string& path, int outside) {
  UniqueFd fd(open(path.c_str(), kDirFilesFlags));
  if (!fd.valid() && errno == ENOENT) {
    const std::string parent = ParentOf(path);
    const UniqueFd above(open(parent.c_str(), kDirFilesFlags));
    if (!above.valid()) return ErrnoStatus(errno, parent);
    if (outside >= 0) {
      RETURN_IF_ERROR(CheckOutside(above.get(), outside, path));
    }
    // Whatever the umask says: what others may write to is not trusted later.
    if (mkdir(path.c_str(), 0755) != 0) return ErrnoStatus(errno, path);
    fd = UniqueFd(open(path.c_str(), kDirFilesFlags));
  }
  if (!fd.valid()) return ErrnoStatus(errno, path);
  if (outside >= 0) RETURN_IF_ERROR(CheckOutside(fd.get(), outside, path));
  return DirFiles(path, std::move(fd));
}

DirFiles::DirFiles(const OwnedDir& dir)
    : path_(dir.path()), fd_(dir.shared_fd()) {}

std::string DirFiles::PathOf(absl::string_view name) const {
  return absl::StrCat(path_, absl::EndsWith(path_, "/") ? "" : "/", name);
}

absl::Status DirFiles::Lock(absl::string_view why) const {
  if (flock(fd(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return absl::FailedPreconditionError(absl::StrCat(path_, ": ", why));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> DirFiles::Names() const {
  const int copy = openat(fd(), ".", kDirFilesFlags);
  if (copy < 0) return ErrnoStatus(errno, path_);
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(fdopendir(copy), closedir);
  if (dir == nullptr) {
    const int error = errno;
    close(copy);
    return ErrnoStatus(error, path_);
  }
  std::vector<std::string> names;
  for (errno = 0; const dirent* entry = readdir(dir.get()); errno = 0) {
    const absl::string_view name = entry->d_name;
    if (name == "." || name == ".." || name == "lost+found") continue;
    names.emplace_back(name);
  }
  if (errno != 0) return ErrnoStatus(errno, path_);
  return names;
}

absl::StatusOr<absl::optional<struct stat>> DirFiles::Stat(
    absl::string_view name) const {
  struct stat st;
  if (fstatat(fd(), std::string(name).c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0) {
    return absl::optional<struct stat>(st);
  }
  if (errno == ENOENT) return absl::optional<struct stat>();
  return ErrnoStatus(errno, PathOf(name));
}

absl::StatusOr<UniqueFd> DirFiles::OpenFile(absl::string_view name,
                                            int flags) const {
  UniqueFd file(openat(fd(), std::string(name).c_str(),
                       flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat st;
  if (!file.valid() || fstat(file.get(), &st) != 0) {
    return ErrnoStatus(errno, PathOf(name));
  }
  if (!S_ISREG(st.st_mode)) return ErrnoStatus(EINVAL, PathOf(name));
  return file;
}

absl::StatusOr<UniqueFd> DirFiles::Create(absl::string_view name,
                                          uint64_t bytes, mode_t mode) const {
  UniqueFd file(openat(fd(), std::string(name).c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                       mode));
  if (!file.valid()) return ErrnoStatus(errno, PathOf(name));
  // posix_fallocate would write zeros if the file system cannot reserve space.
  if (bytes > 0 &&
      fallocate(file.get(), 0, 0, static_cast<off_t>(bytes)) != 0 &&
      errno != EOPNOTSUPP && errno != ENOSYS && errno != EINTR) {
    const int error = errno;
    (void)Remove(name);
    return ErrnoStatus(error, PathOf(name));
  }
  return file;
}

absl::Status DirFiles::Rename(absl::string_view from,
                              absl::string_view to) const {
  if (renameat(fd(), std::string(from).c_str(), fd(),
               std::string(to).c_str()) != 0) {
    return ErrnoStatus(errno, PathOf(to));
  }
  return absl::OkStatus();
}

absl::Status DirFiles::Remove(absl::string_view name) const {
  if (unlinkat(fd(), std::string(name).c_str(), 0) != 0 && errno != ENOENT) {
    return ErrnoStatus(errno, PathOf(name));
  }
  return absl::OkStatus();
}

absl::Status DirFiles::SyncNames() const {
  // EINVAL: the file system does not support fsync of directories.
  if (fsync(fd()) != 0 && errno != EINVAL) return ErrnoStatus(errno, path_);
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> DirFiles::FreeBytes() const {
  struct statvfs fs;
  if (fstatvfs(fd(), &fs) != 0) return ErrnoStatus(errno, path_);
  return uint64_t{fs.f_bavail} * fs.f_frsize;
}

}  // namespace shufflefs
