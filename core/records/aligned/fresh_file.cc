// SPDX-License-Identifier: Apache-2.0
#include "core/records/aligned/fresh_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "core/base/files/atomic_file.h"
#include "core/base/files/owned_dir.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

constexpr size_t kHeldBytes = size_t{1} << 20;

FilePlace FreshOf(const std::string& path) {
  return FilePlace(path).With(kFreshSuffix);
}

}  // namespace

absl::StatusOr<FreshFile> FreshFile::Create(const std::string& path,
                                            mode_t mode) {
  RETURN_IF_ERROR(FreshOf(path).Remove());
  const std::string fresh = FreshOf(path).path();
  UniqueFd fd(open(fresh.c_str(),
                   O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!fd.valid()) return ErrnoStatus(errno, fresh);
  return FreshFile(path, std::move(fd));
}

FreshFile::~FreshFile() {
  if (fd_.valid()) FreshOf(path_).Remove().IgnoreError();
}

absl::Status FreshFile::Flush() {
  RETURN_IF_ERROR(WriteAll(fd_.get(), held_, FreshOf(path_).path()));
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
  if (fsync(fd_.get()) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, FreshOf(path_).path());
}

absl::Status FreshFile::Publish() {
  RETURN_IF_ERROR(FreshOf(path_).RenameTo(path_));
  fd_.reset();
  return FilePlace(path_).SyncNames();
}

}  // namespace shufflefs
