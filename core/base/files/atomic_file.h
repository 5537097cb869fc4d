// SPDX-License-Identifier: Apache-2.0
// Small files of the daemon that are written and read as a whole. Any thread
// may call. Calls block on the disk.
#ifndef SHUFFLEFS_CORE_BASE_FILES_ATOMIC_FILE_H_
#define SHUFFLEFS_CORE_BASE_FILES_ATOMIC_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/files/owned_dir.h"

namespace shufflefs {

// Writes the pieces one after the other to `place`.new (mode 0600), fsyncs it
// and renames it to `place`. So there is always a whole file, the old or the
// new one. Errors carry their errno, and then no new file is left behind.
absl::Status ReplaceFile(const FilePlace& place,
                         absl::Span<const absl::string_view> pieces);

// Writes all of `bytes` at the descriptor's position. Errors name `path` and
// carry the errno.
absl::Status WriteAll(int fd, absl::string_view bytes, const std::string& path);

// A bound for files that are read whole and whose size nothing else bounds. It
// is larger than any of them: the catalogue of about 200 million files.
inline constexpr uint64_t kMostWholeFile = uint64_t{16} << 30;

// A size cannot be trusted: a file of 64 GiB may take no space at all. Returns
// ResourceExhausted, naming `what`, under two conditions. The range has more
// than 64 times the bytes that the file takes on its device, which no
// compression achieves, and the range has a hole. If the file system reports
// neither, its size is trusted.
struct FileRange {
  uint64_t from = 0;
  uint64_t bytes = 0;
};
absl::Status CheckWritten(int fd, FileRange range, absl::string_view what);

// The bytes of a regular file that may be read as a whole. Errors name `what`:
// the errno; InvalidArgument if it is no regular file; ResourceExhausted if it
// has more than `most` bytes; those of CheckWritten.
absl::StatusOr<uint64_t> SizeToRead(int fd, absl::string_view what,
                                    uint64_t most);

// Reads a regular file of at most `most` bytes as a whole. Errors name `what`:
// the errno; InvalidArgument if it is no regular file; ResourceExhausted if it
// is larger or does not fit into memory; those of CheckWritten.
absl::StatusOr<std::string> ReadWhole(int fd, absl::string_view what,
                                      uint64_t most);
// The same for a place. Also returns the errors of FilePlace::Open.
absl::StatusOr<std::string> ReadWholeFile(const FilePlace& place,
                                          uint64_t most);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_FILES_ATOMIC_FILE_H_
