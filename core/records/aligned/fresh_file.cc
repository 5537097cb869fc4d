// SPDX-License-Identifier: Apache-2.0
#include "core/records/aligned/fresh_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/files/atomic_file.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

constexpr size_t kHeldBytes = size_t{1} << 20;

std::string TmpOf(const std::string& path) {
  return absl::StrCat(path, kFreshSuffix);
}

}  // namespace

absl::StatusOr<FreshFile> FreshFile::Create(const std::string& path,
                                            mode_t mode) {
  const std::string fresh = TmpOf(path);
  if (unlink(fresh.c_str()) != 0 && errno != ENOENT) {
    return ErrnoStatus(errno, fresh);
  }
  UniqueFd fd(open(fresh.c_str(),
                   O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!fd.valid()) return ErrnoStatus(errno, fresh);
  return FreshFile(path, std::move(fd));
}

FreshFile::~FreshFile() {
  if (fd_.valid()) unlink(TmpOf(path_).c_str());
}

absl::Status FreshFile::Flush() {
  RETURN_IF_ERROR(WriteAll(fd_.get(), held_, TmpOf(path_)));
  held_.clear();
  return absl::OkStatus();
}

absl::Status FreshFile::Append(absl::string_view bytes) {
  held_.append(bytes.data(), bytes.size());
  bytes_ += bytes.size();
  return held_.size() >= kHeldBytes ? Flush() : absl::OkStatus();
}

absl::Status FreshFile::AppendZeros(uint64_t count) {
  while (count > 0) {
    const uint64_t now = std::min<uint64_t>(count, kHeldBytes);
    held_.append(now, '\0');
    bytes_ += now;
    count -= now;
    if (held_.size() >= kHeldBytes) RETURN_IF_ERROR(Flush());
  }
  return absl::OkStatus();
}

absl::Status FreshFile::Finish() {
  RETURN_IF_ERROR(Flush());
  if (fsync(fd_.get()) != 0) return ErrnoStatus(errno, TmpOf(path_));
  return absl::OkStatus();
}

absl::Status FreshFile::Publish() {
  if (rename(TmpOf(path_).c_str(), path_.c_str()) != 0) {
    return ErrnoStatus(errno, path_);
  }
  fd_.reset();
  return SyncNamesAround(path_);
}

absl::Status SyncNamesAround(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string dir =
      slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const UniqueFd fd(open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, dir);
  // EINVAL: the file system does not support fsync of directories.
  if (fsync(fd.get()) != 0 && errno != EINVAL) return ErrnoStatus(errno, dir);
  return absl::OkStatus();
}

}  // namespace shufflefs
