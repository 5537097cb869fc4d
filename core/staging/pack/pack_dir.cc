// SPDX-License-Identifier: Apache-2.0
#include "core/staging/pack/pack_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/types/optional.h"
#include "core/base/files/whole_file.h"
#include "core/base/status.h"
#include "core/staging/pack/pack_format.h"
#include "core/staging/pack/pack_journal.h"

namespace shufflefs {
namespace {

constexpr char kUnfinished[] = ".tmp";
constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
constexpr size_t kMaxTransfer = size_t{1} << 30;
// In the root of a fresh ext4; as good as empty.
constexpr char kLostAndFound[] = "lost+found";

bool SameFile(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// Refuses a directory that is `top` or lies below it. Goes up from it: names
// may be links.
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
      absl::StrCat(path, ": lies in the source, which is never written to"));
}

// The directory that holds `path`.
std::string ParentOf(const std::string& path) {
  const size_t slash = path.find_last_of('/', path.find_last_not_of('/'));
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

bool IsPart(absl::string_view name) {
  return name == kPackManifest || name == kPackJournal ||
         ParsePackChunkName(name).has_value();
}

}  // namespace

absl::Status WriteAt(int fd, absl::Span<const char> bytes, uint64_t offset,
                     absl::string_view what) {
  while (!bytes.empty()) {
    const ssize_t done =
        pwrite(fd, bytes.data(), std::min(bytes.size(), kMaxTransfer),
               static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return ErrnoStatus(errno, what);
    bytes.remove_prefix(static_cast<size_t>(done));
    offset += static_cast<uint64_t>(done);
  }
  return absl::OkStatus();
}

absl::StatusOr<PackDir> PackDir::Open(const std::string& path,
                                      const SourceDir& source) {
  UniqueFd fd(open(path.c_str(), kDirectory));
  if (!fd.valid() && errno == ENOENT) {
    const std::string parent = ParentOf(path);
    UniqueFd above(open(parent.c_str(), kDirectory));
    if (!above.valid()) return ErrnoStatus(errno, parent);
    RETURN_IF_ERROR(CheckOutside(above.get(), source.fd(), path));
    if (mkdir(path.c_str(), 0777) != 0) return ErrnoStatus(errno, path);
    fd = UniqueFd(open(path.c_str(), kDirectory));
  }
  if (!fd.valid()) return ErrnoStatus(errno, path);
  RETURN_IF_ERROR(CheckOutside(fd.get(), source.fd(), path));
  // Where the file system has no such lock there is none.
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": another process packs there"));
  }
  return PackDir(path, std::move(fd));
}

std::string PackDir::PathOf(absl::string_view name) const {
  return absl::StrCat(path_, absl::EndsWith(path_, "/") ? "" : "/", name);
}

absl::StatusOr<PackDir::Contents> PackDir::List() const {
  const int copy = openat(fd_.get(), ".", kDirectory);
  if (copy < 0) return ErrnoStatus(errno, path_);
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(fdopendir(copy), closedir);
  if (dir == nullptr) {
    const int error = errno;
    close(copy);
    return ErrnoStatus(error, path_);
  }
  Contents contents;
  for (errno = 0; const dirent* entry = readdir(dir.get()); errno = 0) {
    const absl::string_view name = entry->d_name;
    absl::string_view part = name;
    if (name == "." || name == ".." || name == kLostAndFound) continue;
    if (const auto chunk = ParsePackChunkName(name)) {
      contents.chunks.push_back(*chunk);
    } else if (name == kPackManifest) {
      contents.manifest = true;
    } else if (name == kPackJournal) {
      contents.journal = true;
    } else if (absl::ConsumeSuffix(&part, kUnfinished) && IsPart(part)) {
      contents.leftovers.emplace_back(name);
    } else {
      return absl::FailedPreconditionError(absl::StrCat(
          path_, ": holds ", name,
          ", which is no part of a pack; give an empty directory"));
    }
  }
  if (errno != 0) return ErrnoStatus(errno, path_);
  return contents;
}

absl::Status PackDir::Remove(absl::string_view name) {
  if (unlinkat(fd_.get(), std::string(name).c_str(), 0) != 0 &&
      errno != ENOENT) {
    return ErrnoStatus(errno, PathOf(name));
  }
  return absl::OkStatus();
}

absl::Status PackDir::Clear(const Contents& contents) {
  if (contents.manifest) {
    RETURN_IF_ERROR(Remove(kPackManifest));
    RETURN_IF_ERROR(SyncNames());
  }
  for (const std::string& name : contents.leftovers) {
    RETURN_IF_ERROR(Remove(name));
  }
  for (uint32_t chunk : contents.chunks) {
    RETURN_IF_ERROR(Remove(PackChunkName(chunk)));
  }
  return contents.journal ? Remove(kPackJournal) : absl::OkStatus();
}

absl::StatusOr<std::string> PackDir::Read(absl::string_view name) const {
  UniqueFd fd(openat(fd_.get(), std::string(name).c_str(),
                     O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, PathOf(name));
  return ReadWhole(fd.get(), PathOf(name), kMostWholeFile);
}

absl::StatusOr<uint64_t> PackDir::SizeOf(absl::string_view name) const {
  struct stat st;
  if (fstatat(fd_.get(), std::string(name).c_str(), &st, AT_SYMLINK_NOFOLLOW) !=
      0) {
    return ErrnoStatus(errno, PathOf(name));
  }
  if (!S_ISREG(st.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(PathOf(name), ": not a file"));
  }
  return static_cast<uint64_t>(st.st_size);
}

absl::StatusOr<UniqueFd> PackDir::Create(absl::string_view name, uint64_t bytes,
                                         mode_t mode) {
  const std::string fresh = absl::StrCat(name, kUnfinished);
  RETURN_IF_ERROR(Remove(fresh));
  UniqueFd fd(openat(fd_.get(), fresh.c_str(),
                     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                     mode));
  if (!fd.valid()) return ErrnoStatus(errno, PathOf(fresh));
  // One extent, and a full disk is known before the work. Not posix_fallocate,
  // which would write zeros where the file system cannot.
  if (bytes > 0 && fallocate(fd.get(), 0, 0, static_cast<off_t>(bytes)) != 0 &&
      errno != EOPNOTSUPP && errno != ENOSYS && errno != EINTR) {
    return ErrnoStatus(errno, PathOf(fresh));
  }
  return fd;
}

absl::Status PackDir::Publish(absl::string_view name) {
  const std::string fresh = absl::StrCat(name, kUnfinished);
  if (renameat(fd_.get(), fresh.c_str(), fd_.get(),
               std::string(name).c_str()) != 0) {
    return ErrnoStatus(errno, PathOf(name));
  }
  return absl::OkStatus();
}

absl::Status PackDir::Write(absl::string_view name, absl::string_view bytes,
                            mode_t mode) {
  {
    ASSIGN_OR_RETURN(const UniqueFd fd, Create(name, bytes.size(), mode));
    RETURN_IF_ERROR(WriteAt(fd.get(), bytes, 0, PathOf(name)));
    if (fsync(fd.get()) != 0) return ErrnoStatus(errno, PathOf(name));
  }
  RETURN_IF_ERROR(Publish(name));
  return SyncNames();
}

absl::StatusOr<UniqueFd> PackDir::OpenForWriting(absl::string_view name) {
  UniqueFd fd(openat(fd_.get(), std::string(name).c_str(),
                     O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, PathOf(name));
  return fd;
}

absl::Status PackDir::SyncNames() {
  // EINVAL: the file system knows no such call for directories.
  if (fsync(fd_.get()) != 0 && errno != EINVAL) {
    return ErrnoStatus(errno, path_);
  }
  return absl::OkStatus();
}

absl::Status PackDir::SyncAll() {
  if (syncfs(fd_.get()) != 0) return ErrnoStatus(errno, path_);
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> PackDir::FreeBytes() const {
  struct statvfs fs;
  if (fstatvfs(fd_.get(), &fs) != 0) return ErrnoStatus(errno, path_);
  return uint64_t{fs.f_bavail} * fs.f_frsize;
}

absl::StatusOr<uint64_t> PackDir::UsedBytes() const {
  ASSIGN_OR_RETURN(const Contents contents, List());
  uint64_t blocks = 0;
  struct stat st;
  for (uint32_t chunk : contents.chunks) {
    if (fstatat(fd_.get(), PackChunkName(chunk).c_str(), &st,
                AT_SYMLINK_NOFOLLOW) == 0) {
      blocks += static_cast<uint64_t>(st.st_blocks);
    }
  }
  if (fstatat(fd_.get(), kPackManifest, &st, AT_SYMLINK_NOFOLLOW) == 0) {
    blocks += static_cast<uint64_t>(st.st_blocks);
  }
  return blocks * 512;
}

}  // namespace shufflefs
