// SPDX-License-Identifier: Apache-2.0
#include "core/records/index/sequential_reader.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "core/base/files/read_at.h"
#include "core/base/status.h"
#include "core/source/file_check.h"

namespace shufflefs {
namespace {

constexpr uint64_t kLeastPiece = uint64_t{128} << 10;
// Large: the kernel then requests more from the device at once than its
// read-ahead.
constexpr uint64_t kMostPiece = uint64_t{4} << 20;

}  // namespace

SequentialReader::SequentialReader(int fd, uint64_t size)
    : fd_(fd),
      size_(size),
      buffer_(std::min(size, kMostPiece)),
      piece_(kLeastPiece) {}

absl::Status SequentialReader::Read(uint64_t at, uint64_t count,
                                    char* to) const {
  ASSIGN_OR_RETURN(const size_t got, ReadAt(fd_, at, to, count));
  if (got < count) return EndsEarly(at + got);
  // The file will be read in another order. Pages that others have cached stay
  // only as far as the kernel can tell.
  posix_fadvise(fd_, static_cast<off_t>(at), static_cast<off_t>(got),
                POSIX_FADV_DONTNEED);
  return absl::OkStatus();
}

void SequentialReader::FetchNext() {
  if (worker_ == nullptr) {
    next_.resize(buffer_.size());
    worker_ = std::make_unique<Worker>("sfs-pass", 1);
  }
  fetches_ = true;
  const uint64_t count = std::min(piece_, size_ - at_);
  worker_->Post(
      [this, at = at_, count](const absl::Status& turn) {
        absl::Status status = turn.ok() ? Read(at, count, next_.data()) : turn;
        MutexLock lock(mu_);
        // Moved, because its reader shares nothing with this thread.
        next_status_ = std::move(status);
        fetched_.SignalAll();
      },
      /*urgent=*/false);
}

absl::Status SequentialReader::WaitForNext() {
  fetches_ = false;
  MutexLock lock(mu_);
  while (!next_status_) fetched_.Wait(mu_);
  absl::Status status = *std::move(next_status_);
  next_status_.reset();
  return status;
}

absl::StatusOr<absl::string_view> SequentialReader::Next() {
  const uint64_t count = std::min(piece_, size_ - at_);
  if (fetches_) {
    RETURN_IF_ERROR(WaitForNext());
    buffer_.swap(next_);
  } else {
    RETURN_IF_ERROR(Read(at_, count, buffer_.data()));
  }
  at_ += count;
  const bool reads_on = piece_ == kMostPiece;
  piece_ = std::min(2 * piece_, kMostPiece);
  if (reads_on && at_ < size_) FetchNext();
  return absl::string_view(buffer_.data(), count);
}

void SequentialReader::Skip(uint64_t bytes) {
  if (fetches_) WaitForNext().IgnoreError();  // nobody wants the result
  at_ += bytes;
  piece_ = kLeastPiece;
}

}  // namespace shufflefs
