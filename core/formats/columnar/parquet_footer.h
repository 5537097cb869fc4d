// SPDX-License-Identifier: Apache-2.0
// The footer of a Parquet file: FileMetaData in Thrift's compact protocol, the
// length of that (4 bytes), and "PAR1". Its row groups are shuffled by putting
// their entries in another order; they hold absolute offsets of everything that
// belongs to them (pages, column and offset indexes, bloom filters), and so
// carry it along.
//
// What readers make of the order (tried: pyarrow 26, duckdb 2.0, polars 2.1,
// fastparquet 2026.9; read: the sources or issues of the others):
// * All of these, parquet-java, Arrow Rust and cuDF take the row groups in the
//   order of the list and count row numbers in it. Data offsets need not
//   ascend: parquet-java asks for that (RowGroup.file_offset, PARQUET-2078)
//   only where columns are encrypted, and such files are refused here.
// * A reader that splits a file by bytes (parquet-java, and so Spark and Hive;
//   Velox, Trino) gives a row group to the split in which its data lies,
//   whatever its place in the list. Inside a split the order is that of the
//   list.
// * Arrow Rust finds row numbers, and parquet-go page indexes, by
//   RowGroup.ordinal where it is set: hence it is rewritten to the position.
//   Where only some row groups have one (parquet-go used to leave 0 out)
//   readers disagree on what it means, and the file is refused.
// * parquet-go reads all page indexes in one piece, from those of the row group
//   that is listed first. It cannot open a shuffled file that has page indexes
//   unless it is told SkipPageIndex. No other reader of this kind was found.
#ifndef SHUFFLEFS_CORE_FORMATS_COLUMNAR_PARQUET_FOOTER_H_
#define SHUFFLEFS_CORE_FORMATS_COLUMNAR_PARQUET_FOOTER_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/formats/columnar/columnar_footer.h"

namespace shufflefs {

// How many bytes at the end of the file say where its footer begins.
inline constexpr uint64_t kParquetTailBytes = 8;

// Whether a file that starts so may be a Parquet file (4 bytes are looked at).
bool LooksLikeParquet(absl::string_view head);

// How many bytes at the end of the file are its footer, with the tail of it.
// `tail`: its last kParquetTailBytes. Errors: DataLoss if they are no tail;
// FailedPrecondition if the footer is encrypted, or larger than 256 MiB.
absl::StatusOr<uint64_t> ParquetFooterBytes(absl::string_view tail);

// `footer_and_tail`: as many bytes from the end of the file, which has
// `file_bytes`. Errors: those of ColumnarFooter. FailedPrecondition is for
// encryption and signatures, for tables that keep positions of rows outside
// (Iceberg, Hudi), for row groups that lie in other files (`_metadata`), for
// ordinals that are incomplete, and for metadata of a later version of the
// format, which may list row groups twice.
absl::StatusOr<std::unique_ptr<ColumnarFooter>> ParseParquetFooter(
    absl::string_view footer_and_tail, uint64_t file_bytes);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_COLUMNAR_PARQUET_FOOTER_H_
