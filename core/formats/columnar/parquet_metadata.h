// SPDX-License-Identifier: Apache-2.0
// The needed parts of a Parquet file's metadata (FileMetaData): where the
// entries of its row groups are, and whether they may be reordered.
#ifndef SHUFFLEFS_CORE_FORMATS_COLUMNAR_PARQUET_METADATA_H_
#define SHUFFLEFS_CORE_FORMATS_COLUMNAR_PARQUET_METADATA_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace shufflefs {

// A row group as the file lists it. Positions are bytes of the list.
struct ParquetRowGroup {
  size_t begin = 0;
  size_t end = 0;
  // Position of its ordinal's number. Without an ordinal, ordinal_begin is 0,
  // where no number can be.
  size_t ordinal_begin = 0;
  size_t ordinal_end = 0;
  int64_t ordinal = 0;
  uint64_t data_begin = 0;  // first byte of the file with data of it
  uint64_t data_bytes = 0;
};

struct ParquetRowGroups {
  // The list as bytes of the metadata, without the header of the list. The
  // entries fill it without a gap.
  size_t begin = 0;
  size_t end = 0;
  std::vector<ParquetRowGroup> entries;
  absl::optional<uint64_t> rows;  // of the file, as its metadata says
};

// `metadata` begins at byte `begin` of the file. Errors: those of
// ParseParquetFooter. Ordinals are not checked here.
absl::StatusOr<ParquetRowGroups> ParseParquetMetadata(
    absl::string_view metadata, uint64_t begin);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_COLUMNAR_PARQUET_METADATA_H_
