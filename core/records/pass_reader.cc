// SPDX-License-Identifier: Apache-2.0
#include "core/records/pass_reader.h"

#include <fcntl.h>

#include <algorithm>

#include "core/io/file_check.h"
#include "core/io/read_at.h"
#include "core/status.h"

namespace shufflefs {
namespace {

constexpr uint64_t kLeastPiece = uint64_t{128} << 10;
// Large: the kernel asks the device for more at once than its read-ahead.
constexpr uint64_t kMostPiece = uint64_t{4} << 20;

}  // namespace

PassReader::PassReader(int fd, uint64_t size)
    : fd_(fd),
      size_(size),
      buffer_(std::min(size, kMostPiece)),
      piece_(kLeastPiece) {}

absl::StatusOr<absl::string_view> PassReader::Next() {
  const size_t wanted = std::min(piece_, size_ - at_);
  ASSIGN_OR_RETURN(const size_t got, ReadAt(fd_, at_, buffer_.data(), wanted));
  if (got < wanted) return EndsEarly(at_ + got);
  // It will be read in another order; what others have cached stays theirs
  // only as far as the kernel can tell.
  posix_fadvise(fd_, static_cast<off_t>(at_), static_cast<off_t>(got),
                POSIX_FADV_DONTNEED);
  at_ += got;
  piece_ = std::min(2 * piece_, kMostPiece);
  return absl::string_view(buffer_.data(), got);
}

void PassReader::Skip(uint64_t bytes) {
  at_ += bytes;
  piece_ = kLeastPiece;
}

}  // namespace shufflefs
