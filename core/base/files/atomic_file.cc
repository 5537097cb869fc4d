// SPDX-License-Identifier: Apache-2.0
#include "core/base/files/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <exception>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "core/base/files/read_at.h"
#include "core/base/files/unique_fd.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

constexpr size_t kMaxWrite = size_t{1} << 30;
// Smaller files need no check: they fit into any memory.
constexpr uint64_t kSmall = 1 << 20;
constexpr uint64_t kMostCompressed = 64 * 512;  // bytes per block of stat

absl::Status WriteFile(const FilePlace& place,
                       absl::Span<const absl::string_view> pieces) {
  RETURN_IF_ERROR(place.Remove());
  ASSIGN_OR_RETURN(const UniqueFd fd, place.Open(O_WRONLY | O_CREAT | O_EXCL));
  for (absl::string_view piece : pieces) {
    RETURN_IF_ERROR(WriteAll(fd.get(), piece, place.path()));
  }
  if (fsync(fd.get()) != 0) {
    const int error = errno;
    return ErrnoStatus(error, place.path());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status WriteAll(int fd, absl::string_view bytes,
                      const std::string& path) {
  while (!bytes.empty()) {
    ssize_t done = write(fd, bytes.data(), std::min(bytes.size(), kMaxWrite));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return ErrnoStatus(errno, path);
    bytes.remove_prefix(static_cast<size_t>(done));
  }
  return absl::OkStatus();
}

absl::Status ReplaceFile(const FilePlace& place,
                         absl::Span<const absl::string_view> pieces) {
  const FilePlace fresh = place.With(".new");
  absl::Status written = WriteFile(fresh, pieces);
  if (written.ok()) written = fresh.RenameTo(place);
  if (!written.ok()) {
    fresh.Remove().IgnoreError();
    // Who called knows the file by its own name.
    const absl::optional<int> error = ErrnoOf(written);
    return error ? ErrnoStatus(*error, place.path()) : written;
  }
  return place.SyncNames();
}

absl::Status CheckWritten(int fd, FileRange range, absl::string_view what) {
  struct stat st;
  if (fstat(fd, &st) != 0) return ErrnoStatus(errno, what);
  if (range.bytes <= kSmall ||
      range.bytes / kMostCompressed <= static_cast<uint64_t>(st.st_blocks)) {
    return absl::OkStatus();
  }
  const off_t hole = lseek(fd, static_cast<off_t>(range.from), SEEK_HOLE);
  if (hole < 0 || static_cast<uint64_t>(hole) >= range.from + range.bytes) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(
      absl::StrCat(what, ": of ", range.bytes, " bytes at byte ", range.from,
                   " hardly any were written: there is a hole at byte ", hole));
}

absl::StatusOr<uint64_t> SizeToRead(int fd, absl::string_view what,
                                    uint64_t most) {
  struct stat st;
  if (fstat(fd, &st) != 0) return ErrnoStatus(errno, what);
  if (!S_ISREG(st.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": not a file"));
  }
  const auto size = static_cast<uint64_t>(st.st_size);
  if (size > most) {
    return absl::ResourceExhaustedError(absl::StrCat(
        what, ": has ", size, " bytes; at most ", most, " are read"));
  }
  RETURN_IF_ERROR(CheckWritten(fd, {0, size}, what));
  return size;
}

absl::StatusOr<std::string> ReadWhole(int fd, absl::string_view what,
                                      uint64_t most) {
  ASSIGN_OR_RETURN(const uint64_t size, SizeToRead(fd, what, most));
  std::string bytes;
  try {
    bytes.resize(size);
  } catch (const std::exception&) {  // bad_alloc, length_error
    return absl::ResourceExhaustedError(
        absl::StrCat(what, ": there is no memory for its ", size, " bytes"));
  }
  const absl::StatusOr<size_t> got = ReadAt(fd, 0, bytes.data(), size);
  if (!got.ok()) return Annotate(got.status(), what);
  bytes.resize(*got);
  return bytes;
}

absl::StatusOr<std::string> ReadWholeFile(const FilePlace& place,
                                          uint64_t most) {
  ASSIGN_OR_RETURN(const UniqueFd fd, place.Open(O_RDONLY));
  return ReadWhole(fd.get(), place.path(), most);
}

}  // namespace shufflefs
