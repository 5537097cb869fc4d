// SPDX-License-Identifier: Apache-2.0
#include "core/base/files/mmap_log.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

// The file grows by half its size, but by at least and at most these numbers of
// words.
constexpr uint64_t kLeastGrowth = 8192;        // 64 KiB
constexpr uint64_t kMostGrowth = 1024 * 1024;  // 8 MiB
constexpr uint64_t kPageWords = 512;

off_t Bytes(uint64_t words) { return static_cast<off_t>(words * 8); }

}  // namespace

absl::StatusOr<std::unique_ptr<MmapLog>> MmapLog::Open(FilePlace place,
                                                       uint64_t words) {
  ASSIGN_OR_RETURN(UniqueFd fd, place.Open(O_RDWR | O_CREAT));
  auto file =
      absl::WrapUnique(new MmapLog(std::move(place), std::move(fd), words));
  if (::ftruncate(file->fd_.get(), Bytes(words)) != 0) {
    const int error = errno;
    return ErrnoStatus(error, file->path());
  }
  RETURN_IF_ERROR(file->Grow(1));
  return file;
}

MmapLog::MmapLog(FilePlace place, UniqueFd fd, uint64_t words)
    : place_(std::move(place)), fd_(std::move(fd)), size_(words) {}

MmapLog::~MmapLog() {
  if (words_ != nullptr) ::munmap(words_, capacity_ * 8);
  // A failure costs only the space.
  if (::ftruncate(fd_.get(), Bytes(size_)) != 0) errno = 0;
}

absl::Status MmapLog::Append(absl::Span<const uint64_t> record) {
  if (record.empty()) return absl::OkStatus();
  if (capacity_ - size_ < record.size()) {
    RETURN_IF_ERROR(Grow(record.size()));
  }
  std::copy(record.begin() + 1, record.end(), words_ + size_ + 1);
  Store(size_, record.front());
  size_ += record.size();
  return absl::OkStatus();
}

absl::Status MmapLog::Grow(uint64_t words) {
  const uint64_t growth =
      std::max(words, std::clamp(size_ / 2, kLeastGrowth, kMostGrowth));
  const uint64_t target =
      (size_ + growth + kPageWords - 1) / kPageWords * kPageWords;
  // On a full disk a store into a hole would end the process with SIGBUS.
  const int error =
      ::posix_fallocate(fd_.get(), Bytes(capacity_), Bytes(target - capacity_));
  if (error != 0) return ErrnoStatus(error, path());
  // A new mapping is made instead of mremap, which ThreadSanitizer does not
  // see. It would take another thread's mapping at the old address for the same
  // memory. mremap would not be faster, because appended words are not touched
  // again.
  void* mapping = ::mmap(nullptr, target * 8, PROT_READ | PROT_WRITE,
                         MAP_SHARED, fd_.get(), 0);
  if (mapping == MAP_FAILED) {
    const int reason = errno;
    return ErrnoStatus(reason, path());
  }
  if (words_ != nullptr) ::munmap(words_, capacity_ * 8);
  words_ = static_cast<uint64_t*>(mapping);
  capacity_ = target;
  return absl::OkStatus();
}

absl::Status MmapLog::Sync() const {
  if (::fdatasync(fd_.get()) == 0) return absl::OkStatus();
  const int error = errno;
  return ErrnoStatus(error, path());
}

absl::Status MmapLog::Rename(const FilePlace& place) {
  RETURN_IF_ERROR(place_.RenameTo(place));
  place_ = place;
  return absl::OkStatus();
}

}  // namespace shufflefs
