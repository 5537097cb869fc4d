// SPDX-License-Identifier: Apache-2.0
// Where the records of one container lie, on disk: one binary file with a
// version and a checksum (XXH3, 64 bits) over everything behind it. It saves
// reading the container again, and nothing else: when it is gone or refused,
// that costs time.
//
// A file is input like any other. What passes is a table whose records lie one
// behind the other inside the container.
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
#include "core/records/index/offset_table.h"

namespace shufflefs {

// Bytes [kRecordIndexChecksumAt, +8) hold the little-endian checksum of what
// follows them.
inline constexpr size_t kRecordIndexChecksumAt = 16;
inline constexpr size_t kMostFormatBytes = 63;

// What an index is of: any change of it makes another index.
struct IndexedFile {
  // The format, and whatever else decides where its records are ("lines",
  // "lines header=1"): at most kMostFormatBytes, without NUL.
  std::string format;
  FileIdentity identity;  // lasting

  bool operator==(const IndexedFile& other) const = default;
};

struct RecordIndex {
  IndexedFile file;
  std::shared_ptr<const OffsetTable> table;  // not null
};

// As ReplaceFile, core/base/files/whole_file.h; InvalidArgument if the format's name is
// too long. REQUIRES: the records lie inside the file.
absl::Status SaveRecordIndex(const FilePlace& place, const RecordIndex& index);

// Errors, each naming the path: those of ReadWholeFile (ENOENT where none was
// saved); InvalidArgument if it holds no index, or is of another version;
// FailedPrecondition if it is of another file or format, or the file has
// changed, and what differs; DataLoss if it is cut off, damaged or makes no
// sense.
absl::StatusOr<RecordIndex> LoadRecordIndex(const FilePlace& place,
                                            const IndexedFile& expected);

// The same for bytes in memory.
absl::StatusOr<RecordIndex> ParseRecordIndex(absl::string_view bytes,
                                             const IndexedFile& expected);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_INDEX_INDEX_FILE_H_
