// SPDX-License-Identifier: Apache-2.0
// The footer of a Parquet file: FileMetaData in Thrift's compact protocol, its
// length (4 bytes), and "PAR1". Putting the entries of its row groups in
// another order shuffles them. The entries hold absolute offsets of everything
// that belongs to them (pages, column and offset indexes, bloom filters), so
// these move along.
//
// How readers treat the order (tested: pyarrow 26, duckdb 2.0, polars 2.1,
// fastparquet 2026.9; for the others, sources or issues were read):
// * All of these, parquet-java, Arrow Rust and cuDF take the row groups in the
//   order of the list and count row numbers in it. Data offsets need not
//   ascend. parquet-java requires that (RowGroup.file_offset, PARQUET-2078)
//   only if columns are encrypted, and such files are refused here.
// * A reader that splits a file by bytes (parquet-java, and so Spark and Hive;
//   Velox, Trino) assigns a row group to the split that contains its data,
//   whatever its position in the list. Inside a split the order is that of the
//   list.
// * Arrow Rust finds row numbers, and parquet-go page indexes, by
//   RowGroup.ordinal if it is set. So it is rewritten to the position. If only
//   some row groups have one (parquet-go used to leave 0 out), readers disagree
//   on its meaning, and the file is refused.
// * parquet-go reads all page indexes in one piece, from those of the row group
//   that is listed first. It cannot open a shuffled file that has page indexes
//   unless SkipPageIndex is set. No other such reader was found.
#ifndef SHUFFLEFS_CORE_FORMATS_COLUMNAR_PARQUET_FOOTER_H_
#define SHUFFLEFS_CORE_FORMATS_COLUMNAR_PARQUET_FOOTER_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/formats/columnar/columnar_footer.h"

namespace shufflefs {

// Number of bytes at the end of the file that say where its footer begins.
inline constexpr uint64_t kParquetTailBytes = 8;

// Returns whether a file that begins with `head` may be a Parquet file (checks
// 4 bytes).
bool LooksLikeParquet(absl::string_view head);

// The size of the file's footer, including its tail. `tail` is the last
// kParquetTailBytes. Errors: DataLoss if they are no tail; FailedPrecondition
// if the footer is encrypted or larger than 256 MiB.
absl::StatusOr<uint64_t> ParquetFooterBytes(absl::string_view tail);

// `footer_and_tail` is that many bytes at the end of a file of `file_bytes`.
// Errors: those of ColumnarFooter. FailedPrecondition means one of: encryption
// or signatures, tables that store positions of rows elsewhere (Iceberg, Hudi),
// row groups in other files (`_metadata`), incomplete ordinals, or metadata of
// a later version of the format, which may list row groups twice.
absl::StatusOr<std::unique_ptr<ColumnarFooter>> ParseParquetFooter(
    absl::string_view footer_and_tail, uint64_t file_bytes);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_COLUMNAR_PARQUET_FOOTER_H_
