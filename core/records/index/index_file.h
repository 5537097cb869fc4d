// SPDX-License-Identifier: Apache-2.0
// The saved index of a container: one binary file with a version and a checksum
// (XXH3, 64 bits) over everything behind it. It saves only time: if it is gone
// or refused, the container is read again.
//
// A file is input like any other. An accepted file is a table whose records are
// adjacent and inside the container.
//
// The names in a container (NameHashes) have a file of their own beside the
// index, of the same kind. Only mounts that mix containers read it.
#ifndef SHUFFLEFS_CORE_RECORDS_INDEX_INDEX_FILE_H_
#define SHUFFLEFS_CORE_RECORDS_INDEX_INDEX_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/files/owned_dir.h"
#include "core/catalogue/file_identity.h"
#include "core/formats/record_scanner.h"
#include "core/records/index/offset_table.h"

namespace shufflefs {

inline constexpr size_t kMostFormatBytes = 63;

// Identifies an index. Any change of it makes another index.
struct IndexedFile {
  // The format, and everything else that determines where its records are
  // ("lines", "lines header=1"): at most kMostFormatBytes, without NUL.
  std::string format;
  FileIdentity identity;  // lasting

  bool operator==(const IndexedFile& other) const = default;
};

struct RecordIndex {
  IndexedFile file;
  std::shared_ptr<const OffsetTable> table;  // not null
};

// Errors: as for ReplaceFile, core/base/files/atomic_file.h; InvalidArgument if
// the format's name is too long. REQUIRES: the records are inside the file.
absl::Status SaveRecordIndex(const FilePlace& place, const RecordIndex& index);

// Errors, each naming the path: those of ReadWholeFile (ENOENT if none was
// saved); InvalidArgument if it holds no index or has another version;
// FailedPrecondition, with the difference, if it is of another file or format,
// or if the file has changed; DataLoss if it is cut off, damaged or makes no
// sense.
absl::StatusOr<RecordIndex> LoadRecordIndex(const FilePlace& place,
                                            const IndexedFile& expected);

// The same for bytes in memory.
absl::StatusOr<RecordIndex> ParseRecordIndex(absl::string_view bytes,
                                             const IndexedFile& expected);

// The location of the names of the container whose index is at `index`.
inline FilePlace NamesPlace(const FilePlace& index) {
  return index.With(".names");
}

// The same three for the names in a container. An accepted file has hashes in
// increasing order, each once, whether it stays or not.
absl::Status SaveRecordNames(const FilePlace& place, const IndexedFile& file,
                             const NameHashes& names);
absl::StatusOr<NameHashes> LoadRecordNames(const FilePlace& place,
                                           const IndexedFile& expected);
absl::StatusOr<NameHashes> ParseRecordNames(absl::string_view bytes,
                                            const IndexedFile& expected);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_INDEX_INDEX_FILE_H_
