// SPDX-License-Identifier: Apache-2.0
// Small files of the daemon's own that are written and read whole. Any thread
// may call; blocks for the disk.
#ifndef SHUFFLEFS_CORE_BASE_FILES_WHOLE_FILE_H_
#define SHUFFLEFS_CORE_BASE_FILES_WHOLE_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/files/owned_dir.h"

namespace shufflefs {

// Writes the pieces, one behind the other, to `place`.new (mode 0600), fsyncs
// it and renames it, so that there is always a whole file, the old or the new
// one. Errors carry their errno; nothing is left behind then.
absl::Status ReplaceFile(const FilePlace& place,
                         absl::Span<const absl::string_view> pieces);

// Writes all of `bytes` where the descriptor stands. Errors, naming `path`:
// the errno.
absl::Status WriteAll(int fd, absl::string_view bytes, const std::string& path);

// Larger than any file that is read whole and whose size nothing else bounds:
// the catalogue of some 200 million files.
inline constexpr uint64_t kMostWholeFile = uint64_t{16} << 30;

// A size is not to be believed: a file of 64 GiB may take no space at all.
// ResourceExhausted, naming `what`, where the bytes are more than 64 times what
// the file takes on its device, which no compression gives, and among them is a
// hole. What a file system says of neither is believed.
struct FileRange {
  uint64_t from = 0;
  uint64_t bytes = 0;
};
absl::Status CheckWritten(int fd, FileRange range, absl::string_view what);

// All of a regular file, of at most `most` bytes. Errors, naming `what`: the
// errno; InvalidArgument if it is no regular file; ResourceExhausted if it is
// larger, does not fit into memory, or those of CheckWritten.
absl::StatusOr<std::string> ReadWhole(int fd, absl::string_view what,
                                      uint64_t most);
// The same of a place; also errors of FilePlace::Open.
absl::StatusOr<std::string> ReadWholeFile(const FilePlace& place,
                                          uint64_t most);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_FILES_WHOLE_FILE_H_
