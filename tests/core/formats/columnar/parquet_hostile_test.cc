// SPDX-License-Identifier: Apache-2.0
// Parquet files that are not to be shuffled, and those that are damaged: each
// is refused, and the reason or the place is named.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/formats/columnar/parquet_footer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/formats/columnar/parquet_fixture.h"

namespace shufflefs {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace testing_support;  // NOLINT: the numbers of the types

void ExpectRefused(const ParquetParsed& parsed, absl::string_view why) {
  EXPECT_EQ(parsed.status(), absl::FailedPreconditionError(why));
}

TEST(ParquetHostileTest, OrdinalsThatCannotBeRewritten) {
  std::vector<ParquetGroup> groups = Groups(3, true);
  groups[0].ordinal.reset();
  ExpectRefused(ParseFooter(ParquetFooterOf(groups)),
                "only some of its row groups are numbered");
  for (const int ordinal : {1, 3, -1}) {
    groups[0].ordinal = ordinal;
    ExpectRefused(ParseFooter(ParquetFooterOf(groups)),
                  "its row groups are not numbered from 0 on");
  }
  ThriftStruct padded;
  padded.List(1, kWireStruct, {}).Field(7, kWireI16, std::string("\x80\0", 2));
  ExpectRefused(ParseMetadata(ParquetMetadata({padded.Bytes()})),
                "its numbers are encoded in more bytes than needed");
}

// An entry of one byte would be a row group of 56 bytes of memory.
TEST(ParquetHostileTest, RowGroupsOfNothing) {
  const size_t most = size_t{1} << 20;
  const std::vector<std::string> groups(most + 1, std::string(1, '\0'));
  ExpectRefused(ParseMetadata(ParquetMetadata(groups)),
                "it has more than 1048576 row groups");
  const ParquetParsed parsed =
      ParseMetadata(ParquetMetadata({groups.begin(), groups.begin() + 1000}));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ((*parsed)->count(), 1000u);
}

TEST(ParquetHostileTest, EncryptedAndSignedFiles) {
  const std::vector<std::string> groups = {ParquetRowGroupBytes({})};
  ExpectRefused(ParseMetadata(ParquetMetadata(groups, {{}, 8})),
                "it is encrypted");
  ExpectRefused(ParseMetadata(ParquetMetadata(groups, {{}, 9})),
                "its footer is signed");
  ExpectRefused(ParseMetadata(ParquetMetadata(groups, {{}, 10})),
                "its metadata has a field 10, of a later version of Parquet");
  ExpectRefused(
      ParseMetadata(ParquetMetadata(groups, {{}, 32767})),
      "its metadata has a field 32767, of a later version of Parquet");
  ExpectRefused(ParseMetadata(ParquetMetadata(groups) + "signature of it"),
                "its footer has 15 bytes behind its metadata");
  EXPECT_EQ(ParquetFooterBytes(std::string("\x10\0\0\0PARE", 8)).status(),
            absl::FailedPreconditionError("its footer is encrypted"));
  for (const int field : {8, 9}) {
    ThriftStruct column;
    column.Struct(3, ParquetColumnData(4, 10, false));
    column.Struct(field, ThriftStruct());
    ExpectRefused(
        ParseMetadata(ParquetMetadata(
            {ThriftStruct().List(1, kWireStruct, {column.Bytes()}).Bytes()})),
        "it has encrypted columns");
  }
}

TEST(ParquetHostileTest, TablesThatCountTheirRows) {
  for (const char* key : {"iceberg.schema", "delete-type", "hoodie_min_key",
                          "org.apache.hudi.bloomfilter"}) {
    ExpectRefused(
        ParseFooter(ParquetFooterOf(Groups(2, false), {{"pandas", key}, {}})),
        absl::StrCat("it belongs to a table that counts its rows: its "
                     "metadata has the key '",
                     key, "'"));
  }
  EXPECT_TRUE(ParseFooter(ParquetFooterOf(Groups(2, false),
                                          {{"not.iceberg.schema"}, {}}))
                  .ok());
}

TEST(ParquetHostileTest, RowGroupsOfOtherFiles) {
  ThriftStruct column;
  column.Binary(1, "part-0.parquet").I64(2, 4);
  ExpectRefused(
      ParseMetadata(ParquetMetadata(
          {ThriftStruct().List(1, kWireStruct, {column.Bytes()}).Bytes()})),
      "its row groups lie in other files");
}

TEST(ParquetHostileTest, FilesThatAreNoneOrCutOff) {
  const auto tail = [](const std::string& bytes) {
    const auto parsed = ParquetFooterBytes(bytes);
    EXPECT_FALSE(parsed.ok());
    return parsed.status();
  };
  EXPECT_EQ(tail(""),
            absl::DataLossError("it is too short for a Parquet file"));
  EXPECT_EQ(tail("PAR1"),
            absl::DataLossError("it is too short for a Parquet file"));
  EXPECT_EQ(tail("....PAR2"),
            absl::DataLossError("it does not end as a Parquet file does"));
  EXPECT_EQ(tail("\xFF\xFF\xFF\xFFPAR1"),
            absl::FailedPreconditionError("its footer has 4294967295 bytes"));
  const std::string footer = ParquetFooterOf(Groups(2, true));
  EXPECT_EQ(ParseParquetFooter(footer, footer.size() + 3).status(),
            absl::DataLossError(absl::StrCat(
                "by its last bytes, its footer has ", footer.size(),
                " bytes, but it ends at byte ", footer.size() + 3)));
  EXPECT_EQ(ParseFooter(footer.substr(1)).status(),
            absl::DataLossError(absl::StrCat("its footer has ", footer.size(),
                                             " bytes, of which ",
                                             footer.size() - 1, " were read")));
}

TEST(ParquetHostileTest, DataBeyondTheFooter) {
  ParquetGroup group;
  group.begin = kParquetDataEnd - 99;
  const ParquetParsed parsed = ParseFooter(ParquetFooterOf({group}));
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(parsed.status().message()),
              HasSubstr(absl::StrCat(
                  "a column has 100 bytes at byte ", kParquetDataEnd - 99,
                  ", but data ends at byte ", kParquetDataEnd)));
  group.begin = kParquetDataEnd - 100;
  EXPECT_TRUE(ParseFooter(ParquetFooterOf({group})).ok());
  const std::vector<std::pair<uint64_t, uint64_t>> places = {
      {~uint64_t{0}, 1},
      {4, ~uint64_t{0}},
      {uint64_t{1} << 62, uint64_t{1} << 62}};
  for (const auto& [begin, bytes] : places) {
    group.begin = begin;
    group.column_bytes = {bytes};
    EXPECT_EQ(ParseFooter(ParquetFooterOf({group})).status().code(),
              absl::StatusCode::kDataLoss);
  }
}

TEST(ParquetHostileTest, MetadataWithoutRowGroups) {
  EXPECT_EQ(
      ParseMetadata(ThriftStruct().I32(1, 2).Bytes()).status(),
      absl::DataLossError(absl::StrCat("its metadata at byte ", kParquetDataEnd,
                                       " has no list of row groups")));
  const ParquetParsed none = ParseMetadata(ParquetMetadata({}));
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ((*none)->count(), 0u);
  EXPECT_EQ((*none)->size(), 0u);
  EXPECT_THAT((*none)->group_bytes(), IsEmpty());
}

TEST(ParquetHostileTest, EveryTruncationIsDamage) {
  std::string metadata = ParquetFooterOf(Groups(2, true));
  metadata.resize(metadata.size() - 8);
  for (size_t size = 0; size < metadata.size(); ++size) {
    const absl::Status status =
        ParseMetadata(metadata.substr(0, size)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << size;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("its metadata is invalid at byte "));
  }
}

// Each byte of a footer in turn takes every value: what is accepted keeps its
// promise on length, and can be read again.
TEST(ParquetHostileTest, AnyByteAtAnyPlace) {
  std::vector<ParquetGroup> groups = Groups(3, true);
  for (ParquetGroup& group : groups) group.column_bytes.resize(1);
  const std::string footer = ParquetFooterOf(groups);
  int accepted = 0;
  for (size_t at = 0; at < footer.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = footer;
      changed[at] = static_cast<char>(byte);
      const ParquetParsed parsed = ParseFooter(changed);
      if (!parsed.ok()) {
        ASSERT_TRUE(absl::IsDataLoss(parsed.status()) ||
                    absl::IsFailedPrecondition(parsed.status()))
            << parsed.status();
        continue;
      }
      ++accepted;
      const uint64_t count = (*parsed)->count();
      std::vector<uint64_t> order(count);
      for (uint64_t i = 0; i < count; ++i) order[i] = count - 1 - i;
      const ParquetParsed again =
          ParseFooter(Replaced(changed, **parsed, order));
      ASSERT_TRUE(again.ok()) << again.status();
      std::vector<uint64_t> bytes = (*again)->group_bytes();
      std::reverse(bytes.begin(), bytes.end());
      ASSERT_EQ(bytes, (*parsed)->group_bytes());
    }
  }
  EXPECT_GT(accepted, 10000);  // of statistics, names and sizes
}

}  // namespace
}  // namespace shufflefs
