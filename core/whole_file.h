// SPDX-License-Identifier: Apache-2.0
// Small files of the daemon's own that are written and read whole. Any thread
// may call; blocks for the disk.
#ifndef SHUFFLEFS_CORE_WHOLE_FILE_H_
#define SHUFFLEFS_CORE_WHOLE_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace shufflefs {

// Writes the pieces, one behind the other, to `path`.new (mode 0600), fsyncs
// it and renames it, so that `path` is always a whole file, the old or the new
// one. Errors carry their errno; nothing is left behind then.
absl::Status ReplaceFile(const std::string& path,
                         absl::Span<const absl::string_view> pieces);

// Writes all of `bytes` where the descriptor stands. Errors, naming `path`:
// the errno.
absl::Status WriteAll(int fd, absl::string_view bytes, const std::string& path);

// Errors, naming `path`: the errno (ENOENT where there is none, ELOOP for a
// link); InvalidArgument if it is no regular file.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_WHOLE_FILE_H_
