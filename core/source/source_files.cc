// SPDX-License-Identifier: Apache-2.0
#include "core/source/source_files.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/files/read_at.h"
#include "core/base/status.h"
#include "core/source/cached_read.h"
#include "core/source/file_check.h"
#include "core/source/file_systems.h"

namespace shufflefs {
namespace {

// Drops pages that this read brought in (Linux 6.14). The kernel keeps the
// view's own copy, and a second one would halve the useful memory. Pages that
// were cached before stay. Debian 12's headers do not define the flag.
constexpr int kRwfDropBehind = 0x80;

absl::optional<uint64_t> LocalDevice(const SourceDir& source) {
  const SourceDir::Place& place = source.place();
  if (source.lookup() != SourceDir::Lookup::kKernel || !place.fs_type ||
      !AnswersFromMemory(*place.fs_type)) {
    return absl::nullopt;
  }
  return place.device;
}

}  // namespace

SourceFiles::SourceFiles(const SourceDir& source, const Catalogue& catalogue,
                         size_t open_limit)
    : source_(source),
      catalogue_(catalogue),
      open_limit_(std::max<size_t>(open_limit, 1)),
      local_device_(LocalDevice(source)) {}

absl::StatusOr<size_t> SourceFiles::Read(EntryId file, uint64_t offset,
                                         absl::Span<char> out) {
  const uint64_t size = catalogue_.attributes(file).size;
  if (offset >= size) return size_t{0};
  out = out.subspan(0, std::min<uint64_t>(out.size(), size - offset));
  auto fd = Get(file);
  if (!fd.ok()) return Annotate(fd.status(), catalogue_.path(file));
  absl::StatusOr<size_t> got = ReadAt((*fd)->get(), offset, out);
  // Checked after the read, so that a file that shrank or was rewritten
  // meanwhile is detected.
  absl::Status same = Check((*fd)->get(), file);
  if (got.ok() && same.ok() && *got < out.size()) {
    same = EndsEarly(offset + *got);
  }
  if (!got.ok() || !same.ok()) {
    Drop(file);
    return Annotate(same.ok() ? got.status() : same, catalogue_.path(file));
  }
  reads_.fetch_add(1, std::memory_order_relaxed);
  bytes_.fetch_add(*got, std::memory_order_relaxed);
  return got;
}

bool SourceFiles::ReadCached(EntryId file, uint64_t offset, uint64_t length,
                             const std::vector<iovec>& into,
                             IfUnknown if_unknown) {
  const OpenedFile fd = GetAtOnce(file);
  if (fd == nullptr ||
      !ReadIfCached(fd->get(), into, offset, length, if_unknown)) {
    return false;
  }
  if (!Check(fd->get(), file).ok()) {
    Drop(file);
    return false;
  }
  return true;
}

SourceFiles::OpenedFile SourceFiles::Find(EntryId file) {
  MutexLock lock(mu_);
  auto found = open_.find(file);
  if (found == open_.end()) return nullptr;
  recent_.splice(recent_.begin(), recent_, found->second.place);
  return found->second.fd;
}

absl::StatusOr<SourceFiles::OpenedFile> SourceFiles::Get(EntryId file) {
  if (OpenedFile fd = Find(file)) return fd;
  ASSIGN_OR_RETURN(OpenedFile fd, OpenChecked(file));
  return Keep(file, std::move(fd));
}

SourceFiles::OpenedFile SourceFiles::GetAtOnce(EntryId file) {
  if (OpenedFile fd = Find(file)) return fd;
  OpenedFile fd = OpenAtOnce(file);
  return fd == nullptr ? nullptr : Keep(file, std::move(fd));
}

// Neither lookup nor open asks the device. The kernel knows the names, and a
// file system of this kind caches everything else with them.
SourceFiles::OpenedFile SourceFiles::OpenAtOnce(EntryId file) const {
  if (catalogue_.attributes(file).device != local_device_) return nullptr;
  const std::string path = catalogue_.path(file);
  open_how how = source_.HowToRead();
  how.resolve |= RESOLVE_CACHED;
  const auto open = [&] {
    return static_cast<int>(
        syscall(SYS_openat2, source_.fd(), path.c_str(), &how, sizeof how));
  };
  UniqueFd fd(open());
  if (!fd.valid() && errno == EPERM && (how.flags & O_NOATIME) != 0) {
    how.flags &= ~uint64_t{O_NOATIME};  // the process does not own this file
    fd = UniqueFd(open());
  }
  if (!fd.valid() || !Check(fd.get(), file).ok()) return nullptr;
  posix_fadvise(fd.get(), 0, 0, POSIX_FADV_RANDOM);
  return std::make_shared<const UniqueFd>(std::move(fd));
}

SourceFiles::OpenedFile SourceFiles::Keep(EntryId file, OpenedFile fd) {
  OpenedFile left;  // is closed without the lock: that may free a removed file
  MutexLock lock(mu_);
  if (open_.contains(file)) return fd;  // another reader was faster
  recent_.push_front(file);
  open_[file] = Slot{fd, recent_.begin()};
  if (open_.size() > open_limit_) {
    const auto oldest = open_.find(recent_.back());
    left = std::move(oldest->second.fd);
    open_.erase(oldest);
    recent_.pop_back();
  }
  return fd;
}

absl::StatusOr<SourceFiles::OpenedFile> SourceFiles::OpenChecked(EntryId file) {
  absl::StatusOr<UniqueFd> opened =
      source_.Open(catalogue_.path(file), O_RDONLY);
  if (!opened.ok()) {
    return OpenFailure(ErrnoOf(opened.status()).value_or(EIO));
  }
  RETURN_IF_ERROR(Check(opened->get(), file));
  // The view prefetches itself. A second read-ahead below it would read up to
  // three times the bytes.
  posix_fadvise(opened->get(), 0, 0, POSIX_FADV_RANDOM);
  return std::make_shared<const UniqueFd>(*std::move(opened));
}

void SourceFiles::Drop(EntryId file) {
  OpenedFile left;
  MutexLock lock(mu_);
  auto found = open_.find(file);
  if (found == open_.end()) return;
  left = std::move(found->second.fd);
  recent_.erase(found->second.place);
  open_.erase(found);
}

absl::Status SourceFiles::Check(int fd, EntryId file) const {
  return CheckUnchanged(fd, catalogue_.attributes(file));
}

absl::StatusOr<size_t> SourceFiles::ReadAt(int fd, uint64_t offset,
                                           absl::Span<char> out) {
  size_t done = 0;
  while (done < out.size()) {
    const iovec piece{out.data() + done, out.size() - done};
    const bool drop = drop_behind_.load(std::memory_order_relaxed);
    const ssize_t n =
        preadv2(fd, &piece, 1, offset + done, drop ? kRwfDropBehind : 0);
    if (n > 0) {
      done += n;
    } else if (n == 0) {
      break;
    } else if (drop && (errno == EOPNOTSUPP || errno == EINVAL)) {
      drop_behind_.store(false, std::memory_order_relaxed);
    } else if (errno != EINTR) {
      return ReadFailure(errno, offset + done);
    }
  }
  return done;
}

}  // namespace shufflefs
