// SPDX-License-Identifier: Apache-2.0
#include "fs/take_up.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace shufflefs {
namespace {

constexpr size_t kBatchBytes = 128 * 1024;

}  // namespace

TakeUp::TakeUp(int fd) : fd_(fd), buffer_(kBatchBytes) {}

absl::optional<size_t> TakeUp::Next() {
  const long got =
      syscall(SYS_getdents64, fd_, buffer_.data(), buffer_.size());
  if (got <= 0) return absl::nullopt;
  size_t entries = 0;
  const dirent64* last = nullptr;
  for (size_t at = 0; at < static_cast<size_t>(got); at += last->d_reclen) {
    last = reinterpret_cast<const dirent64*>(buffer_.data() + at);
    ++entries;
  }
  // The kernel takes dentries up from a listing only while it sees them used:
  // one stat a batch keeps it doing so.
  struct stat st;
  fstatat(fd_, last->d_name, &st, AT_SYMLINK_NOFOLLOW);
  return entries;
}

}  // namespace shufflefs
