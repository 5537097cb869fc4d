// SPDX-License-Identifier: Apache-2.0
#include "core/base/files/read_at.h"

#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace shufflefs {

absl::Status ReadFailure(int error, uint64_t offset) {
  return ErrnoStatus(error, absl::StrCat("read at byte ", offset));
}

absl::Status EndsEarly(uint64_t offset) {
  return ErrnoStatus(EIO, absl::StrCat("ends early, at byte ", offset));
}

absl::StatusOr<size_t> ReadAt(int fd, uint64_t offset, char* into,
                              size_t size) {
  size_t done = 0;
  while (done < size) {
    const ssize_t got = pread(fd, into + done, size - done,
                              static_cast<off_t>(offset + done));
    if (got == 0) break;
    if (got > 0) {
      done += static_cast<size_t>(got);
    } else if (errno != EINTR) {
      return ReadFailure(errno, offset + done);
    }
  }
  return done;
}

}  // namespace shufflefs
