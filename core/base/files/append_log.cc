// SPDX-License-Identifier: Apache-2.0
#include "core/base/files/append_log.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "core/base/files/read_at.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

// No page of memory is smaller.
constexpr uint64_t kPageWords = 512;

off_t Bytes(uint64_t words) { return static_cast<off_t>(words * 8); }

// The kernel copies what lies in one page of a file without a pause, and makes
// the file longer afterwards. So neither a kill nor a reader sees a part of it.
bool InOnePage(uint64_t at, uint64_t words) {
  return at / kPageWords == (at + words - 1) / kPageWords;
}

}  // namespace

uint64_t SealOf(absl::Span<const uint64_t> words, uint64_t place) {
  return XXH3_64bits_withSeed(words.data(), words.size() * 8, place);
}

std::vector<uint64_t> Sealed(std::vector<uint64_t> words, uint64_t place) {
  words.push_back(SealOf(words, place));
  return words;
}

bool IsSealed(absl::Span<const uint64_t> record, uint64_t place) {
  return SealOf(record.first(record.size() - 1), place) == record.back();
}

absl::StatusOr<std::unique_ptr<AppendLog>> AppendLog::Open(FilePlace place,
                                                           uint64_t words) {
  ASSIGN_OR_RETURN(UniqueFd fd, place.Open(O_RDWR | O_CREAT));
  auto file =
      absl::WrapUnique(new AppendLog(std::move(place), std::move(fd), words));
  RETURN_IF_ERROR(file->CutOff());
  return file;
}

absl::Status AppendLog::Append(absl::Span<const uint64_t> record) {
  if (record.empty()) return absl::OkStatus();
  if (torn_) RETURN_IF_ERROR(CutOff());
  absl::Status done;
  if (InOnePage(size_, record.size())) {
    done = Write(record, size_);
  } else {
    // The first word goes last. Until then a reader finds nothing there.
    done = Write(record.subspan(1), size_ + 1);
    if (done.ok()) done = Write(record.first(1), size_);
  }
  if (!done.ok()) {
    torn_ = true;
    CutOff().IgnoreError();  // else the next append tries again
    return done;
  }
  size_ += record.size();
  return absl::OkStatus();
}

absl::Status AppendLog::Write(absl::Span<const uint64_t> words, uint64_t at) {
  const char* from = reinterpret_cast<const char*>(words.data());
  size_t left = words.size() * 8;
  off_t offset = Bytes(at);
  while (left > 0) {
    const ssize_t put = ::pwrite(fd_.get(), from, left, offset);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) {
      const int error = put < 0 ? errno : EIO;
      return ErrnoStatus(error, path());
    }
    from += put;
    left -= static_cast<size_t>(put);
    offset += put;
  }
  return absl::OkStatus();
}

absl::Status AppendLog::CutOff() {
  if (::ftruncate(fd_.get(), Bytes(size_)) != 0) {
    const int error = errno;
    return ErrnoStatus(error, path());
  }
  torn_ = false;
  return absl::OkStatus();
}

absl::Status AppendLog::CheckStart() const {
  if (size_ == 0) return absl::OkStatus();
  uint64_t first = 0;
  const absl::StatusOr<size_t> got =
      ReadAt(fd_.get(), 0, reinterpret_cast<char*>(&first), 8);
  if (!got.ok()) return Annotate(got.status(), path());
  if (*got == 8 && first != 0) return CheckName();
  return absl::DataLossError(
      absl::StrCat(path(), ": somebody emptied it while it was in use"));
}

absl::Status AppendLog::CheckName() const {
  const auto removed = absl::DataLossError(
      absl::StrCat(path(), ": somebody removed it while it was in use"));
  struct stat ours;
  if (::fstat(fd_.get(), &ours) != 0) {
    const int error = errno;
    return ErrnoStatus(error, path());
  }
  const absl::StatusOr<struct stat> named = place_.Stat();
  if (ErrnoOf(named.status()) == ENOENT) return removed;
  if (!named.ok()) return named.status();
  if (named->st_ino == ours.st_ino && named->st_dev == ours.st_dev) {
    return absl::OkStatus();
  }
  if (S_ISREG(named->st_mode) && named->st_size == 0) return removed;
  // Some file systems number a file anew while it is open.
  if (ours.st_nlink > 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      path(), ": somebody put another file in its place while it was in use"));
}

absl::Status AppendLog::Sync() const {
  if (::fdatasync(fd_.get()) == 0) return absl::OkStatus();
  const int error = errno;
  return ErrnoStatus(error, path());
}

absl::Status AppendLog::Rename(const FilePlace& place) {
  RETURN_IF_ERROR(place_.RenameTo(place));
  place_ = place;
  return absl::OkStatus();
}

}  // namespace shufflefs
