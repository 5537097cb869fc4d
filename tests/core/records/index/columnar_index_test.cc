// SPDX-License-Identifier: Apache-2.0
// Finding the groups of columnar containers, and what is said of them.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/formats/columnar/columnar_formats.h"
#include "core/records/containers/container_set.h"
#include "core/records/index/container_index.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/formats/columnar/columnar_fixture.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using testing_support::ArrowEnd;
using testing_support::ArrowMessage;
using testing_support::kArrowBatch;
using testing_support::kArrowSchema;
using testing_support::MakeArrowFile;
using testing_support::MakeParquet;
using testing_support::TempTree;

class ColumnarIndexTest : public ::testing::Test {
 protected:
  absl::StatusOr<ContainerShape> Index(const std::string& content,
                                       const RecordFormat& format) {
    tree_.File("file", content);
    const Catalogue catalogue = tree_.Scanned();
    IndexRequest request;
    request.path = "file";
    request.expected = catalogue.attributes(*catalogue.FindPath("file"));
    request.format = &format;
    request.options = &options_;
    return IndexContainer(tree_.Source(), request);
  }
  static void ExpectLike(const absl::StatusOr<ContainerShape>& found,
                         const testing_support::Container& made) {
    ASSERT_TRUE(found.ok()) << found.status();
    ASSERT_NE(found->columnar, nullptr);
    EXPECT_EQ(found->file_bytes, made.content.size());
    const ColumnarFooter& footer = found->columnar->footer();
    const ColumnarFooter& expected = made.shape.columnar->footer();
    EXPECT_EQ(footer.begin(), expected.begin());
    EXPECT_EQ(footer.size(), expected.size());
    EXPECT_EQ(footer.group_begins(), expected.group_begins());
    EXPECT_EQ(found->records->count(), expected.count());
    EXPECT_GT(found->columnar->memory_bytes(), footer.size());
  }
  void ExpectRefused(const std::string& content, const RecordFormat& format,
                     absl::StatusCode code, const std::string& why) {
    const auto shape = Index(content, format);
    EXPECT_EQ(shape.status().code(), code) << shape.status();
    EXPECT_THAT(std::string(shape.status().message()), HasSubstr(why));
  }

  std::shared_ptr<ContainerSet> Set(const std::string& as = "",
                                    const std::string& align = "") {
    ViewConfig config;
    config.record.as = as;
    config.record.align = align;
    catalogue_ = std::make_shared<const Catalogue>(tree_.Scanned());
    auto set =
        std::make_shared<ContainerSet>(*Dataset::Make(catalogue_, config, ""),
                                       *RecordRules::Parse(config.record));
    set->Index(tree_.Source(), {});
    return set;
  }
  static std::map<std::string, std::string> Untouched(const ContainerSet& set) {
    std::map<std::string, std::string> untouched;
    for (const auto& each : set.Report().untouched) {
      untouched[each.path] = each.why;
    }
    return untouched;
  }
  std::string Parquet(size_t groups) {
    return MakeParquet(std::vector<uint64_t>(groups, 100), false, rng_).content;
  }
  static std::string Stream(size_t batches) {
    std::string stream = ArrowMessage(kArrowSchema);
    for (size_t i = 0; i < batches; ++i) {
      stream += ArrowMessage(kArrowBatch, std::string(8 + 8 * i, 'b'));
    }
    return stream + ArrowEnd();
  }

  Rng rng_{RandomKey(1)};
  TempTree tree_;
  RecordOptions options_;
  std::shared_ptr<const Catalogue> catalogue_;
};

TEST_F(ColumnarIndexTest, ParquetWithFootersOfAnySize) {
  for (const size_t count : {1u, 3u, 50u, 3000u}) {
    const auto made =
        MakeParquet(std::vector<uint64_t>(count, 100), true, rng_);
    ExpectLike(Index(made.content, ParquetFormat()), made);
  }
  const auto made = MakeParquet({300000, 5}, false, rng_);
  ExpectLike(Index(made.content, ParquetFormat()), made);
}

TEST_F(ColumnarIndexTest, ArrowFilesWithFootersOfAnySize) {
  for (const size_t count : {1u, 3u, 5000u}) {
    const auto made = MakeArrowFile(std::vector<uint64_t>(count, 16), rng_);
    ExpectLike(Index(made.content, ArrowFormat()), made);
  }
}

TEST_F(ColumnarIndexTest, ArrowStreamsAreToldByTheirBytes) {
  const auto shape = Index(Stream(3), ArrowFormat());
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_EQ(shape->columnar, nullptr);
  EXPECT_EQ(shape->records->count(), 3u);
  EXPECT_EQ(shape->records->begin(0), 56u);
  EXPECT_EQ(shape->records->begin(3), Stream(3).size() - 8);
}

TEST_F(ColumnarIndexTest, ArrowStreamsOfLargeBatches) {
  const std::string schema = ArrowMessage(kArrowSchema);
  const std::string batch =
      ArrowMessage(kArrowBatch, std::string(5 << 20, 'b'));
  const std::string small = ArrowMessage(kArrowBatch, std::string(8, 'b'));
  const auto shape =
      Index(schema + batch + small + batch + batch, ArrowFormat());
  ASSERT_TRUE(shape.ok()) << shape.status();
  ASSERT_EQ(shape->records->count(), 4u);
  EXPECT_EQ(shape->records->begin(0), schema.size());
  EXPECT_EQ(shape->records->begin(1), schema.size() + batch.size());
  EXPECT_EQ(shape->records->begin(2),
            schema.size() + batch.size() + small.size());
  EXPECT_EQ(shape->records->begin(4), shape->file_bytes);
}

TEST_F(ColumnarIndexTest, WhatIsNoneIsRefused) {
  const auto none = absl::StatusCode::kFailedPrecondition;
  const auto damaged = absl::StatusCode::kDataLoss;
  const std::string arrow = MakeArrowFile({8, 8}, rng_).content;
  ExpectRefused(arrow.substr(0, arrow.size() - 20), ArrowFormat(), damaged,
                "does not end as an Arrow file does");
  ExpectRefused("a,b\n1,2\n", ArrowFormat(), none, "first bytes");
  std::string parquet = Parquet(3);
  ExpectRefused(parquet.substr(0, parquet.size() - 1), ParquetFormat(), damaged,
                "does not end as a Parquet file does");
  ExpectRefused("PAR", ParquetFormat(), damaged, "too short");
  ExpectRefused("\x10\x20\x01\x01PAR1", ParquetFormat(), damaged,
                "ends at byte 8");
  parquet.replace(parquet.size() - 4, 4, "PARE");
  ExpectRefused(parquet, ParquetFormat(), none, "footer is encrypted");
}

TEST_F(ColumnarIndexTest, TheReportSaysWhatComesInAnotherOrder) {
  tree_.File("a.parquet", Parquet(40));
  tree_.File("b.parquet", Parquet(30));
  tree_.File("arrow/c.arrow", MakeArrowFile({8, 8, 8}, rng_).content);
  tree_.File("stream/d.arrows", Stream(5));
  tree_.File("e.txt", "one\ntwo\n");
  const auto set = Set("*.txt:lines");
  const ContainerReport report = set->Report();
  EXPECT_THAT(report.levels,
              ElementsAre(Pair("record batches", 2), Pair("records", 1),
                          Pair("row groups", 2)));
  EXPECT_EQ(report.indexed, 5u);
  EXPECT_EQ(report.records, 40u + 30 + 3 + 5 + 2);
  EXPECT_THAT(report.warnings, IsEmpty());
  EXPECT_THAT(report.untouched, IsEmpty());
}

TEST_F(ColumnarIndexTest, OneGroupIsWarnedOf) {
  tree_.File("a.parquet", Parquet(1));
  tree_.File("b.parquet", Parquet(2));
  tree_.File("c.parquet", Parquet(0));
  tree_.File("d.parquet", Parquet(1));
  tree_.File("s.arrow", Stream(1));
  tree_.File("t.txt", "alone\n");
  EXPECT_THAT(Set("*.txt:lines")->Report().warnings,
              ElementsAre("2 files, the first a.parquet, have one row group "
                          "each, and nothing in it moves: write smaller row "
                          "groups",
                          "s.arrow has one record batch, and nothing in it "
                          "moves: write smaller record batches"));
}

TEST_F(ColumnarIndexTest, FilesOfTablesAreUntouched) {
  const std::string content = Parquet(5);
  for (const char* path :
       {"delta/x.parquet", "delta/day=1/x.parquet", "ice/data/x.parquet",
        "old/data/deep/x.parquet", "hudi/x.parquet", "dask/x.parquet",
        "spark/x.parquet", "dask/_metadata", "free/x.parquet",
        "free/metadata/x.parquet"}) {
    tree_.File(path, content);
  }
  tree_.Files({"delta/_delta_log/0.json", "ice/metadata/v1.metadata.json",
               "old/metadata/version-hint.text", "spark/_common_metadata",
               "free/metadata/notes.txt"});
  tree_.Dir("hudi/.hoodie");
  const auto untouched = Untouched(*Set("free/*:parquet;dask/*:parquet"));
  const std::map<std::string, std::string> expected = {
      {"delta/x.parquet", "it belongs to a table, delta/_delta_log"},
      {"delta/day=1/x.parquet", "it belongs to a table, delta/_delta_log"},
      {"ice/data/x.parquet", "it belongs to an Iceberg table, ice/metadata"},
      {"old/data/deep/x.parquet",
       "it belongs to an Iceberg table, old/metadata"},
      {"hudi/x.parquet", "it belongs to a table, hudi/.hoodie"},
      {"dask/x.parquet", "it belongs to a table, dask/_metadata"},
      {"dask/_metadata", "it belongs to a table, dask/_metadata"},
      {"spark/x.parquet", "it belongs to a table, spark/_common_metadata"}};
  EXPECT_EQ(untouched, expected);
}

TEST_F(ColumnarIndexTest, FilesOfTablesAreNotAligned) {
  tree_.File("delta/x.parquet", Parquet(5));
  tree_.File("delta/y.parquet", Parquet(5));
  tree_.Files({"delta/_delta_log/0.json"});
  const auto untouched = Untouched(*Set("", "x.parquet:y.parquet"));
  for (const char* path : {"delta/x.parquet", "delta/y.parquet"}) {
    ASSERT_TRUE(untouched.contains(path)) << path;
    EXPECT_EQ(untouched.at(path),
              "record.align: delta/x.parquet: it belongs to a table, "
              "delta/_delta_log");
  }
}

// Their orders would differ under policies of blocks.
TEST_F(ColumnarIndexTest, FootersAreNotAlignedWithRecords) {
  tree_.File("x.parquet", Parquet(5));
  tree_.File("y.txt", "1\n2\n3\n4\n5\n");
  tree_.File("z.parquet", Parquet(5));
  const std::string why =
      "record.align: in x.parquet only the footer moves, in y.txt the records";
  for (const char* rule : {"x.parquet:y.txt", "y.txt:x.parquet"}) {
    const auto untouched = Untouched(*Set("", rule));
    ASSERT_EQ(untouched.size(), 2u) << rule;
    EXPECT_EQ(untouched.at("x.parquet"), why);
    EXPECT_EQ(untouched.at("y.txt"), why);
  }
  EXPECT_TRUE(Untouched(*Set("", "x.parquet:z.parquet")).empty());
}

}  // namespace
}  // namespace shufflefs
