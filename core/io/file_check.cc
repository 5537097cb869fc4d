// SPDX-License-Identifier: Apache-2.0
#include "core/io/file_check.h"

#include <fcntl.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace shufflefs {

absl::Status CheckUnchanged(const struct statx& now,
                            const FileAttributes& known) {
  const int64_t mtime_ns =
      int64_t{now.stx_mtime.tv_sec} * 1000000000 + now.stx_mtime.tv_nsec;
  if (!S_ISREG(now.stx_mode) || now.stx_size != known.size ||
      mtime_ns != known.mtime_ns) {
    return ErrnoStatus(
        ESTALE,
        absl::StrCat("changed since the catalogue was made (", known.size,
                     " bytes then, ", now.stx_size, " now)"));
  }
  const mode_t lost = known.mode & ~mode_t{now.stx_mode} & 0444;
  if (lost != 0 || now.stx_uid != known.uid || now.stx_gid != known.gid) {
    return ErrnoStatus(EACCES,
                       "permission changed since the catalogue was made");
  }
  return absl::OkStatus();
}

absl::Status CheckUnchanged(int fd, const FileAttributes& known) {
  struct statx now;
  if (statx(fd, "", AT_EMPTY_PATH, kLookMask, &now) != 0) {
    return ErrnoStatus(errno, "statx");
  }
  return CheckUnchanged(now, known);
}

absl::Status OpenFailure(int error) {
  if (error == ENOENT || error == ENOTDIR || error == ELOOP) {
    return ErrnoStatus(ESTALE, "gone since the catalogue was made");
  }
  if (error == ENXIO || error == ENODEV) {  // a socket, a device
    return ErrnoStatus(ESTALE, "no regular file any more");
  }
  return ErrnoStatus(error, "open");
}

absl::Status ReadFailure(int error, uint64_t offset) {
  return ErrnoStatus(error, absl::StrCat("read at byte ", offset));
}

absl::Status EndsEarly(uint64_t offset) {
  return ErrnoStatus(EIO, absl::StrCat("ends early, at byte ", offset));
}

}  // namespace shufflefs
