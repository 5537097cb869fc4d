// SPDX-License-Identifier: Apache-2.0
// What is needed of the metadata of a Parquet file (FileMetaData): where the
// entries of its row groups are, and whether they may change places.
#ifndef SHUFFLEFS_CORE_FORMATS_COLUMNAR_PARQUET_METADATA_H_
#define SHUFFLEFS_CORE_FORMATS_COLUMNAR_PARQUET_METADATA_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace shufflefs {

// A row group as the file lists it. Places are bytes of the list.
struct ParquetRowGroup {
  size_t begin = 0;
  size_t end = 0;
  // Of the number of its ordinal. Without one ordinal_begin is 0, where no
  // number can be.
  size_t ordinal_begin = 0;
  size_t ordinal_end = 0;
  int64_t ordinal = 0;
  uint64_t data_begin = 0;  // the first byte of the file with data of it
  uint64_t data_bytes = 0;
};

struct ParquetRowGroups {
  // The list, of the metadata's bytes, without the header of the list. The
  // entries are all of it, without a gap.
  size_t begin = 0;
  size_t end = 0;
  std::vector<ParquetRowGroup> entries;
};

// `metadata` begins at byte `begin` of the file. Errors: as of
// ParseParquetFooter, but for the ordinals, which are not judged here.
absl::StatusOr<ParquetRowGroups> ParseParquetMetadata(
    absl::string_view metadata, uint64_t begin);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_COLUMNAR_PARQUET_METADATA_H_
