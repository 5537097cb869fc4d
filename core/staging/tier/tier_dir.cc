// SPDX-License-Identifier: Apache-2.0
#include "core/staging/tier/tier_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/files/whole_file.h"
#include "core/base/status.h"
#include "core/staging/tier/tier_lock.h"

namespace shufflefs {
namespace {

constexpr char kLock[] = ".lock";
// Of a part of 10 million ranges.
constexpr uint64_t kMostTailBytes = uint64_t{512} << 20;
constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

bool SameFile(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// A view's name as one component of a path; never that of the lock.
std::string Component(absl::string_view view) {
  std::string name;
  for (const char c : view) {
    if (c == '/' || c == '%' || c == '\0' || (c == '.' && name.empty())) {
      absl::StrAppendFormat(&name, "%%%02x", static_cast<unsigned char>(c));
    } else {
      name.push_back(c);
    }
  }
  return name.empty() ? "%" : name;
}

absl::StatusOr<bool> IsMountpointFd(int fd, const std::string& path) {
  struct stat here;
  struct stat above;
  if (fstat(fd, &here) != 0 || fstatat(fd, "..", &above, 0) != 0) {
    return ErrnoStatus(errno, path);
  }
  return here.st_dev != above.st_dev || here.st_ino == above.st_ino;
}

}  // namespace

absl::StatusOr<bool> IsMountpoint(const std::string& path) {
  UniqueFd fd(open(path.c_str(), kDirectory));
  if (!fd.valid()) return ErrnoStatus(errno, path);
  return IsMountpointFd(fd.get(), path);
}

absl::StatusOr<TierDir> TierDir::Open(const std::string& path,
                                      absl::string_view view) {
  UniqueFd above(open(path.c_str(), kDirectory));
  if (!above.valid()) return ErrnoStatus(errno, path);
  ASSIGN_OR_RETURN(const bool on_mountpoint, IsMountpointFd(above.get(), path));
  const std::string top_path = absl::StrCat(path, "/", kTierDirectory);
  ASSIGN_OR_RETURN(const OwnedDir top,
                   OwnedDir::In(above.get(), kTierDirectory, top_path));
  ASSIGN_OR_RETURN(UniqueFd lock, LockForProcess(top.fd(), kLock, path));
  ASSIGN_OR_RETURN(OwnedDir own, top.Sub(Component(view)));
  if (flock(own.fd(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return absl::FailedPreconditionError(
        absl::StrCat(own.path(), ": this view is mounted already"));
  }
  ASSIGN_OR_RETURN(SourceDir files, SourceDir::At(own.path()));
  struct stat locked;
  struct stat opened;
  if (fstat(own.fd(), &locked) != 0 || fstat(files.fd(), &opened) != 0) {
    return ErrnoStatus(errno, own.path());
  }
  if (!SameFile(locked, opened)) return ErrnoStatus(ESTALE, own.path());
  return TierDir(std::move(own), std::move(files), std::move(lock),
                 on_mountpoint);
}

std::string TierDir::PathOf(absl::string_view name) const {
  return absl::StrCat(own_.path(), "/", name);
}

absl::Status TierDir::StillThere() const {
  struct stat named;
  struct stat here;
  if (stat(own_.path().c_str(), &named) != 0 || fstat(own_.fd(), &here) != 0) {
    return ErrnoStatus(errno, own_.path());
  }
  return SameFile(named, here) ? absl::OkStatus()
                               : ErrnoStatus(ESTALE, own_.path());
}

absl::StatusOr<std::vector<TierName>> TierDir::List() const {
  const int copy = openat(own_.fd(), ".", kDirectory);
  if (copy < 0) return ErrnoStatus(errno, own_.path());
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(fdopendir(copy), closedir);
  if (dir == nullptr) {
    const int error = errno;
    close(copy);
    return ErrnoStatus(error, own_.path());
  }
  std::vector<TierName> names;
  for (errno = 0; const dirent* entry = readdir(dir.get()); errno = 0) {
    const absl::optional<TierName> name = ParseTierName(entry->d_name);
    struct stat st;
    if (name.has_value() &&
        fstatat(own_.fd(), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(st.st_mode)) {
      names.push_back(*name);
    }
  }
  if (errno != 0) return ErrnoStatus(errno, own_.path());
  return names;
}

absl::StatusOr<TierDir::Part> TierDir::Read(uint64_t id) const {
  const std::string name = TierPartName(id);
  const std::string where = PathOf(name);
  UniqueFd fd(openat(own_.fd(), name.c_str(),
                     O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat st;
  if (!fd.valid() || fstat(fd.get(), &st) != 0) {
    return ErrnoStatus(errno, where);
  }
  if (!S_ISREG(st.st_mode)) return ErrnoStatus(EINVAL, where);
  Part part;
  part.bytes = static_cast<uint64_t>(st.st_size);
  const auto bytes = [&](uint64_t from) -> absl::StatusOr<std::string> {
    std::string text(part.bytes - from, '\0');
    size_t got = 0;
    while (got < text.size()) {
      const ssize_t now = pread(fd.get(), text.data() + got, text.size() - got,
                                static_cast<off_t>(from + got));
      if (now < 0 && errno == EINTR) continue;
      if (now < 0) return ErrnoStatus(errno, where);
      if (now == 0) return absl::DataLossError("ends early");
      got += static_cast<size_t>(now);
    }
    return text;
  };
  if (part.bytes < kTierFooterBytes) return absl::DataLossError(where);
  ASSIGN_OR_RETURN(const std::string footer,
                   bytes(part.bytes - kTierFooterBytes));
  ASSIGN_OR_RETURN(const uint64_t tail_at, TierTailAt(footer, part.bytes));
  if (part.bytes - tail_at > kMostTailBytes) return absl::DataLossError(where);
  RETURN_IF_ERROR(
      CheckWritten(fd.get(), {tail_at, part.bytes - tail_at}, where));
  ASSIGN_OR_RETURN(const std::string tail, bytes(tail_at));
  ASSIGN_OR_RETURN(part.table, ParseTierTail(tail, part.bytes));
  return part;
}

absl::StatusOr<UniqueFd> TierDir::Create(uint64_t id, uint64_t bytes) {
  const std::string name = TierUnfinishedName(id);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  UniqueFd fd(openat(own_.fd(), name.c_str(), kFlags, 0600));
  if (!fd.valid()) return ErrnoStatus(errno, PathOf(name));
  // Not at the open: where that refuses O_DIRECT the file is there by then.
  (void)fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) | O_DIRECT);
  // One extent, and a full device is known before the work.
  if (fallocate(fd.get(), 0, 0, static_cast<off_t>(bytes)) != 0 &&
      errno != EOPNOTSUPP && errno != ENOSYS && errno != EINTR) {
    const int error = errno;
    (void)Remove({id, false});
    return ErrnoStatus(error, PathOf(name));
  }
  return fd;
}

absl::Status TierDir::Publish(uint64_t id) {
  const int dir = own_.fd();
  if (renameat(dir, TierUnfinishedName(id).c_str(), dir,
               TierPartName(id).c_str()) != 0) {
    return ErrnoStatus(errno, PathOf(TierPartName(id)));
  }
  return absl::OkStatus();
}

absl::Status TierDir::Remove(TierName name) {
  const std::string text =
      name.finished ? TierPartName(name.id) : TierUnfinishedName(name.id);
  if (unlinkat(own_.fd(), text.c_str(), 0) != 0 && errno != ENOENT) {
    return ErrnoStatus(errno, PathOf(text));
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> TierDir::FreeBytes() const {
  struct statvfs fs;
  if (fstatvfs(own_.fd(), &fs) != 0) return ErrnoStatus(errno, own_.path());
  return uint64_t{fs.f_bavail} * fs.f_frsize;
}

}  // namespace shufflefs
