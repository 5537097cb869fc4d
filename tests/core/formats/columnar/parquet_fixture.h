// SPDX-License-Identifier: Apache-2.0
// Parquet files with true metadata, field by field as parquet.thrift has them,
// whose pages are any bytes.
#ifndef SHUFFLEFS_TESTS_CORE_FORMATS_COLUMNAR_PARQUET_FIXTURE_H_
#define SHUFFLEFS_TESTS_CORE_FORMATS_COLUMNAR_PARQUET_FIXTURE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "core/formats/columnar/parquet_footer.h"
#include "gtest/gtest.h"
#include "tests/core/formats/columnar/thrift_fixture.h"

namespace shufflefs::testing_support {

struct ParquetGroup {
  uint64_t begin = 4;
  std::vector<uint64_t> column_bytes = {100};
  int64_t rows = 10;
  absl::optional<int> ordinal;
  bool dictionary = false;  // of each column, 10 bytes

  uint64_t bytes() const {
    uint64_t sum = 0;
    for (const uint64_t column : column_bytes) sum += column;
    return sum;
  }
};

// ColumnMetaData
inline ThriftStruct ParquetColumnData(uint64_t begin, uint64_t bytes,
                                      bool dictionary) {
  ThriftStruct data;
  data.I32(1, 6)                                              // type
      .List(2, kWireI32, {ThriftZigZag(0), ThriftZigZag(3)})  // encodings
      .List(3, kWireBinary, {ThriftBinary("text")})           // path_in_schema
      .I32(4, 1)                                              // codec
      .I64(5, 10)                                             // num_values
      .I64(6, static_cast<int64_t>(bytes))  // total_uncompressed_size
      .I64(7, static_cast<int64_t>(bytes))  // total_compressed_size
      .I64(9, static_cast<int64_t>(begin + (dictionary ? 10 : 0)));
  if (dictionary) data.I64(11, static_cast<int64_t>(begin));
  ThriftStruct statistics;
  statistics.Binary(5, "zebra").Binary(6, "apple").Bool(7, true).Bool(8, false);
  return data.Struct(12, statistics);
}

// ColumnChunk
inline ThriftStruct ParquetColumn(const ThriftStruct& data) {
  ThriftStruct column;
  return column.I64(2, 0).Struct(3, data).I64(4, 77777).I32(5, 11);
}

// RowGroup
inline std::string ParquetRowGroupBytes(const ParquetGroup& group) {
  std::vector<std::string> columns;
  uint64_t at = group.begin;
  for (const uint64_t bytes : group.column_bytes) {
    columns.push_back(
        ParquetColumn(ParquetColumnData(at, bytes, group.dictionary)).Bytes());
    at += bytes;
  }
  ThriftStruct entry;
  entry.List(1, kWireStruct, columns)
      .I64(2, static_cast<int64_t>(group.bytes()))
      .I64(3, group.rows)
      .I64(5, static_cast<int64_t>(group.begin))
      .I64(6, static_cast<int64_t>(group.bytes()));
  if (group.ordinal) entry.I16(7, *group.ordinal);
  return entry.Bytes();
}

// What FileMetaData has besides.
struct ParquetExtras {
  std::vector<std::string> keys = {"ARROW:schema", "pandas"};
  absl::optional<int> more;        // the id of a field after the known ones
  absl::optional<int64_t> rows{};  // of the file, if not 10 a row group
};

inline std::string ParquetMetadata(const std::vector<std::string>& row_groups,
                                   const ParquetExtras& extras = {}) {
  ThriftStruct root;
  root.I32(3, 1).Binary(4, "schema").I32(5, 1);
  ThriftStruct leaf;
  leaf.I32(1, 6).I32(3, 1).Binary(4, "text").Struct(10, ThriftStruct());
  std::vector<std::string> pairs;
  for (const std::string& key : extras.keys) {
    pairs.push_back(ThriftStruct().Binary(1, key).Binary(2, "a value").Bytes());
  }
  ThriftStruct metadata;
  metadata.I32(1, 2)
      .List(2, kWireStruct, {root.Bytes(), leaf.Bytes()})
      .I64(3,
           extras.rows.value_or(10 * static_cast<int64_t>(row_groups.size())))
      .List(4, kWireStruct, row_groups)
      .List(5, kWireStruct, pairs)
      .Binary(6, "parquet-cpp-arrow version 20.0.0")
      .List(7, kWireStruct, {ThriftStruct().Struct(1, ThriftStruct()).Bytes()});
  if (extras.more) metadata.Struct(*extras.more, ThriftStruct());
  return metadata.Bytes();
}

inline std::string ParquetTail(uint64_t metadata_bytes) {
  std::string tail;
  for (int i = 0; i < 4; ++i) {
    tail += static_cast<char>(metadata_bytes >> 8 * i & 0xFF);
  }
  return tail + "PAR1";
}

// The metadata and the tail of a file with such row groups, as they are
// listed.
inline std::string ParquetFooterOf(const std::vector<ParquetGroup>& groups,
                                   const ParquetExtras& extras = {}) {
  std::vector<std::string> entries;
  for (const ParquetGroup& one : groups) {
    entries.push_back(ParquetRowGroupBytes(one));
  }
  const std::string metadata = ParquetMetadata(entries, extras);
  return metadata + ParquetTail(metadata.size());
}

// Where the footers below begin in their files.
inline constexpr uint64_t kParquetDataEnd = 100000;

using ParquetParsed = absl::StatusOr<std::unique_ptr<ColumnarFooter>>;

inline ParquetParsed ParseFooter(const std::string& footer) {
  // A copy without a byte behind it, so that a sanitizer sees a look there.
  const std::vector<char> exact(footer.begin(), footer.end());
  return ParseParquetFooter({exact.data(), exact.size()},
                            kParquetDataEnd + footer.size());
}

inline ParquetParsed ParseMetadata(const std::string& metadata) {
  return ParseFooter(metadata + ParquetTail(metadata.size()));
}

// The footer with its row groups in that order.
inline std::string Replaced(std::string footer, const ColumnarFooter& parsed,
                            const std::vector<uint64_t>& order) {
  const std::string bytes = parsed.ReorderedBytes(
      [&](uint64_t at) { return order[at]; }, 0, parsed.size());
  EXPECT_EQ(bytes.size(), parsed.size());
  return footer.replace(parsed.begin() - kParquetDataEnd, parsed.size(), bytes);
}

// Groups of different sizes, one behind another.
inline std::vector<ParquetGroup> Groups(uint64_t count, bool ordinals) {
  std::vector<ParquetGroup> groups(count);
  uint64_t at = 4;
  for (uint64_t i = 0; i < count; ++i) {
    groups[i].begin = at;
    groups[i].column_bytes = {i + 1, 20};
    groups[i].rows = static_cast<int64_t>(1000 + i);
    if (ordinals) groups[i].ordinal = static_cast<int>(i);
    at += groups[i].bytes();
  }
  return groups;
}

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_FORMATS_COLUMNAR_PARQUET_FIXTURE_H_
