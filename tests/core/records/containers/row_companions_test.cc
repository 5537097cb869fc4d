// SPDX-License-Identifier: Apache-2.0
// Files whose rows may belong to those of others.
#include "core/records/containers/row_companions.h"

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/records/containers/container_set.h"
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
using ::testing::UnorderedElementsAre;
using testing_support::Letters;
using testing_support::ParquetFooterOf;
using testing_support::ParquetGroup;
using testing_support::TempTree;

class RowCompanionsTest : public ::testing::Test {
 protected:
  void Parquet(const std::string& path, int groups, int64_t rows) {
    std::vector<ParquetGroup> listed(static_cast<size_t>(groups));
    std::string content = "PAR1";
    for (ParquetGroup& group : listed) {
      group.begin = content.size();
      content += Letters(100, rng_);
    }
    content += ParquetFooterOf(listed, {.rows = rows});
    tree_.File(path, content);
  }
  void Arrow(const std::string& path, size_t batches) {
    const std::vector<uint64_t> sizes(batches, 100);
    tree_.File(path, testing_support::MakeArrowFile(sizes, rng_).content);
  }

  // `rows` numbers of eight bytes.
  void Npy(const std::string& path, int rows, const std::string& type = "<i8") {
    std::string head = "{'descr': '" + type +
                       "', 'fortran_order': False, 'shape': (" +
                       std::to_string(rows) + ",), }";
    head.resize(117, ' ');
    tree_.File(path, std::string("\x93NUMPY\x01\x00\x76\x00", 10) + head +
                         "\n" + Letters(static_cast<uint64_t>(rows) * 8, rng_));
  }
  // `rows` rows of `size` bytes: as MNIST has them.
  void Idx(const std::string& path, int rows, int size) {
    const auto high = static_cast<char>(rows / 256);
    const auto low = static_cast<char>(rows % 256);
    std::string head("\0\0\x08\x02\0\0", 6);
    head += high;
    head += low;
    head += std::string(3, '\0') + static_cast<char>(size);
    tree_.File(path, head + Letters(static_cast<uint64_t>(rows * size), rng_));
  }
  void Lines(const std::string& path, int lines) {
    std::string content;
    for (int i = 0; i < lines; ++i) content += std::to_string(i) + ",cat\n";
    tree_.File(path, content);
  }

  // Files that are shown as they are, and why.
  std::map<std::string, std::string> Left(const std::string& as = "") {
    ViewConfig config;
    config.record.as = as;
    catalogue_ = std::make_shared<const Catalogue>(tree_.Scanned());
    ContainerSet set(*Dataset::Make(catalogue_, config, ""),
                     *RecordRules::Parse(config.record));
    // Readers of any of them are not left waiting.
    std::atomic<uint64_t> ready{0};
    for (const EntryId file : set.files()) {
      set.WhenReady(file, [&](absl::Status status) { ready += status.ok(); });
    }
    set.Index(tree_.Source(), {});
    EXPECT_EQ(ready, set.files().size());
    std::map<std::string, std::string> left;
    for (const auto& each : set.Report().untouched) {
      left[each.path] = each.why;
    }
    return left;
  }
  std::vector<std::string> LeftPaths(const std::string& as = "") {
    std::vector<std::string> paths;
    for (const auto& [path, why] : Left(as)) paths.push_back(path);
    return paths;
  }

  TempTree tree_;
  std::shared_ptr<const Catalogue> catalogue_;
  Rng rng_{RandomKey(1)};
};

// [S-6.3d] Files that others may belong to row by row are shown as they are.
TEST_F(RowCompanionsTest, FilesOfAsManyRowsInOneDirectoryAreLeftAlone) {
  Parquet("X.parquet", 8, 800);
  Parquet("y.parquet", 2, 800);  // in other row groups
  Parquet("z.parquet", 8, 799);
  const auto left = Left();
  EXPECT_THAT(left,
              UnorderedElementsAre(Pair("X.parquet", HasSubstr("y.parquet")),
                                   Pair("y.parquet", HasSubstr("X.parquet"))));
  EXPECT_THAT(left.at("X.parquet"), HasSubstr("record.align"));
}

TEST_F(RowCompanionsTest, ShardsOfOneTableAreShuffled) {
  for (int i = 0; i < 12; ++i) {
    Parquet("part-" + std::to_string(i) + ".parquet", 4, 1000);
    Parquet(std::to_string(i) + "/of-2.parquet", 4, 1000);
  }
  EXPECT_THAT(LeftPaths(), IsEmpty());
}

// As Hive, Spark and Delta Lake name them.
TEST_F(RowCompanionsTest, PartitionsAndRandomNamesAreShards) {
  for (const std::string label : {"cat", "dog", "eel"}) {
    Parquet("hive/label=" + label + "/part.parquet", 4, 1000);
  }
  for (const std::string uuid : {"ea7f0c1d-33ab-4cde-9f00-0123456789ab",
                                 "abcdefab-cdef-abcd-efab-cdefabcdefab"}) {
    Parquet("delta/part-00000-" + uuid + "-c000.snappy.parquet", 4, 1000);
  }
  for (const std::string hash : {"9f86d081884c7d65", "60303ae22b998861"}) {
    Parquet("hash/" + hash + ".parquet", 4, 1000);
  }
  EXPECT_THAT(LeftPaths(), IsEmpty());
}

TEST_F(RowCompanionsTest, WordsAreNoRandomNames) {
  Parquet("defaced.parquet", 4, 1000);
  Parquet("a/facade-12345.parquet", 4, 500);
  Parquet("a/features-12345.parquet", 4, 500);
  Parquet("acceded.parquet", 4, 1000);
  Parquet("b/cafe1.parquet", 4, 300);
  Parquet("b/bead1.parquet", 4, 300);
  EXPECT_THAT(LeftPaths(),
              ElementsAre("a/facade-12345.parquet", "a/features-12345.parquet",
                          "acceded.parquet", "b/bead1.parquet",
                          "b/cafe1.parquet", "defaced.parquet"));
}

TEST_F(RowCompanionsTest, ManyNamesThatAreAlikeAreShards) {
  for (char c = 'a'; c < 'a' + 9; ++c) {
    Parquet(std::string("x") + c + ".parquet", 4, 1000);
    if (c == 'a') continue;
    Parquet(std::string("eight/x") + c + ".parquet", 4, 1000);
  }
  EXPECT_THAT(LeftPaths(), ::testing::SizeIs(8));
}

TEST_F(RowCompanionsTest, ShardsCorrespondOneByOne) {
  for (const std::string table : {"image", "label"}) {
    Parquet(table + "-9.parquet", 4, 1000);
    Parquet(table + "-10.parquet", 4, 400);
  }
  Parquet("text-9.parquet", 4, 400);
  Parquet("text-10.parquet", 4, 1000);  // the other way round
  EXPECT_THAT(LeftPaths(), ElementsAre("image-10.parquet", "image-9.parquet",
                                       "label-10.parquet", "label-9.parquet"));
}

TEST_F(RowCompanionsTest, OneTableOfAnotherSizeIsNoCompanion) {
  for (const std::string table : {"train", "held-out"}) {
    Parquet(table + "-0.parquet", 4, 1000);
  }
  Parquet("train-1.parquet", 4, 1000);
  EXPECT_THAT(LeftPaths(), IsEmpty());
}

TEST_F(RowCompanionsTest, DirectoriesBesideEachOtherAreCompared) {
  for (const std::string part : {"a", "b"}) {
    Parquet("features/" + part + "/0.parquet", 4, part == "a" ? 500 : 600);
    Parquet("labels/" + part + "/0.parquet", 4, part == "a" ? 500 : 600);
  }
  Parquet("labels/a/deep/0.parquet", 4, 500);
  EXPECT_THAT(LeftPaths(),
              ElementsAre("features/a/0.parquet", "features/b/0.parquet",
                          "labels/a/0.parquet", "labels/b/0.parquet"));
}

TEST_F(RowCompanionsTest, BatchesOfArrowFilesAreCounted) {
  Arrow("X.arrow", 5);
  Arrow("y.arrow", 5);
  Arrow("z.arrow", 6);
  Parquet("w.parquet", 4, 4);  // five batches have more rows
  EXPECT_THAT(LeftPaths(), ElementsAre("X.arrow", "y.arrow"));
}

// An Arrow file does not say how many rows it has.
TEST_F(RowCompanionsTest, ArrowBesideParquetIsInDoubt) {
  Parquet("X.parquet", 8, 80);
  Arrow("y.arrow", 8);
  Parquet("features/0.parquet", 8, 80);
  Arrow("labels/0.arrow", 2);
  const auto left = Left();
  EXPECT_THAT(left,
              UnorderedElementsAre(
                  Pair("X.parquet", HasSubstr("y.arrow, which may have")),
                  Pair("y.arrow", HasSubstr("X.parquet")),
                  Pair("features/0.parquet", HasSubstr("labels/0.arrow")),
                  Pair("labels/0.arrow", HasSubstr("features/0.parquet"))));
}

TEST_F(RowCompanionsTest, ArraysBesideAreCounted) {
  Parquet("X.parquet", 8, 80);
  Npy("y.npy", 80);
  Npy("mean.npy", 81);
  Parquet("a/features/0.parquet", 8, 80);
  Npy("a/labels/0.npy", 80);
  Parquet("b/X.parquet", 8, 80);
  Npy("b/mean.npy", 81);
  const auto left = Left();
  EXPECT_THAT(left, UnorderedElementsAre(
                        Pair("X.parquet", HasSubstr("y.npy, which has")),
                        Pair("a/features/0.parquet",
                             HasSubstr("a/labels/0.npy, which has"))));
  EXPECT_THAT(left.at("X.parquet"), HasSubstr("name it in record.as"));
}

TEST_F(RowCompanionsTest, LinesBesideAreCounted) {
  Parquet("X.parquet", 8, 80);
  Lines("y.txt", 80);
  Arrow("a/W.arrow", 8);
  Lines("a/y.jsonl", 7);
  Parquet("b/V.parquet", 8, 80);
  Lines("b/y.csv", 81);  // one may be a header
  Parquet("c/U.parquet", 8, 80);
  Lines("c/README.txt", 80);
  tree_.File("c/notes.txt", "one\r\ntwo");
  Lines("c/y.csv", 82);
  EXPECT_THAT(LeftPaths(), ElementsAre("X.parquet", "b/V.parquet"));
}

TEST_F(RowCompanionsTest, WhatCannotBeCountedIsInDoubt) {
  Parquet("X.parquet", 8, 80);
  Npy("y.npy", 80, "|O");
  Parquet("a/X.parquet", 8, 80);
  tree_.File("a/empty.npy", "");
  tree_.File("a/weights.bin", "of any size");
  EXPECT_THAT(Left(), ElementsAre(Pair("X.parquet", HasSubstr("may have"))));
}

TEST_F(RowCompanionsTest, ManyFilesBesideAreNoCompanions) {
  Parquet("index.parquet", 8, 80);
  for (char c = 'a'; c < 'a' + 12; ++c) Npy(std::string("x") + c + ".npy", 80);
  Parquet("a/index.parquet", 8, 80);
  for (int i = 0; i < 80; ++i) Npy("a/" + std::to_string(i) + ".npy", 80);
  // They hide no companions of the container's own format.
  Parquet("b/X.parquet", 8, 80);
  Parquet("b/y.parquet", 8, 80);
  for (char c = 'a'; c < 'a' + 12; ++c) Npy(std::string("b/") + c + ".npy", 9);
  EXPECT_THAT(LeftPaths(), ElementsAre("b/X.parquet", "b/y.parquet"));
}

TEST_F(RowCompanionsTest, WhereNothingMovesNothingIsSaid) {
  Parquet("X.parquet", 1, 800);
  Parquet("y.parquet", 1, 800);
  EXPECT_THAT(LeftPaths(), IsEmpty());
}

TEST_F(RowCompanionsTest, WhoNamesThemSaysThatTheirRowsAreTheirOwn) {
  Parquet("X.parquet", 8, 800);
  Parquet("y.parquet", 8, 800);
  Npy("z.npy", 800);
  EXPECT_THAT(Left("*.parquet:parquet"), IsEmpty());
}

// As docs/records.md names MNIST's files.
TEST_F(RowCompanionsTest, ImagesAndTheirLabelsAreLeftAlone) {
  for (const auto& [set, rows] : {std::pair("train", 600), {"t10k", 100}}) {
    Idx(std::string(set) + "-images-idx3-ubyte", rows, 9);
    Idx(std::string(set) + "-labels-idx1-ubyte", rows, 1);
  }
  const auto left = Left("*.npy:npy;*ubyte:idx");
  EXPECT_EQ(left.size(), 4u);
  EXPECT_EQ(left.at("train-images-idx3-ubyte"),
            "its rows may belong to those of train-labels-idx1-ubyte, which "
            "has as many; list both in record.align");
  EXPECT_THAT(left.at("train-labels-idx1-ubyte"),
              HasSubstr("train-images-idx3-ubyte"));
  EXPECT_THAT(left.at("t10k-images-idx3-ubyte"), HasSubstr("in a split"));
}

TEST_F(RowCompanionsTest, ArraysLinesAndRecordsOfOneSizeAreCompared) {
  Npy("X.npy", 80);
  Npy("y.npy", 80);
  Npy("mean.npy", 81);
  Lines("a/X.csv", 80);
  Lines("a/y.csv", 80);
  Lines("a/z.csv", 81);
  tree_.File("b/X.bin", std::string(400, 'x'));
  tree_.File("b/y.bin", std::string(40, 'y'));
  Npy("b/z.npy", 40);
  Lines("b/names.txt", 40);
  EXPECT_THAT(LeftPaths("*.npy:npy;*.csv:lines;X.bin:fixed,bytes=10;"
                        "y.bin:fixed,bytes=1"),
              ElementsAre("X.npy", "a/X.csv", "a/y.csv", "b/X.bin", "b/y.bin",
                          "b/z.npy", "y.npy"));
}

TEST_F(RowCompanionsTest, PartsOfOneSeriesOfArraysAreShuffled) {
  for (int i = 0; i < 3; ++i) {
    Npy("x_" + std::to_string(i) + ".npy", 80);
    Npy("b/X_" + std::to_string(i) + ".npy", 80);
    Npy("b/y_" + std::to_string(i) + ".npy", 80);
    Npy("c/X_" + std::to_string(i) + ".npy", 70);
    Npy("c/y_" + std::to_string(i) + ".npy", i);
  }
  for (char c = 'a'; c < 'a' + 12; ++c) Npy(std::string("d/") + c + ".npy", 9);
  EXPECT_THAT(LeftPaths("*.npy:npy"),
              ElementsAre("b/X_0.npy", "b/X_1.npy", "b/X_2.npy", "b/y_0.npy",
                          "b/y_1.npy", "b/y_2.npy"));
}

TEST_F(RowCompanionsTest, AnArrayBesideAnotherThatNoRuleNamesIsLeftAlone) {
  Npy("X.npy", 80);
  Npy("y.npy", 80);
  Npy("a/X_0.npy", 80);
  Npy("a/X_1.npy", 80);
  EXPECT_THAT(Left("X*0.npy:npy;X.npy:npy"),
              ElementsAre(Pair("X.npy", HasSubstr("record.align"))));
}

TEST_F(RowCompanionsTest, LinesAreNotComparedWithListsThatNoRuleNames) {
  Lines("a.svm", 80);
  Lines("vocab.txt", 80);
  Npy("y.npy", 80);
  Lines("b/a.svm", 80);
  Npy("b/X.npy", 79);
  Lines("b/vocab.txt", 80);  // it is read because of the array
  EXPECT_THAT(LeftPaths("*.svm:lines;X.npy:npy"), ElementsAre("b/X.npy"));
}

TEST_F(RowCompanionsTest, AnArrayOfObjectsIsInDoubt) {
  Npy("X.npy", 80);
  Npy("y.npy", 80, "|O");
  const auto left = Left("*.npy:npy");
  EXPECT_THAT(left.at("X.npy"), HasSubstr("may have as many"));
  EXPECT_THAT(left.at("y.npy"), HasSubstr("objects"));
}

TEST_F(RowCompanionsTest, AnArrayWithARuleBesideParquetIsLeftAlone) {
  Parquet("X.parquet", 8, 80);
  Npy("y.npy", 80);
  const auto left = Left("y.npy:npy");
  EXPECT_THAT(left.at("X.parquet"), HasSubstr("name it in record.as"));
  EXPECT_THAT(left.at("y.npy"), HasSubstr("name X.parquet in record.as"));
  EXPECT_THAT(LeftPaths("y.npy:npy;*.parquet:parquet"), IsEmpty());
}

TEST_F(RowCompanionsTest, AFileThatIsNoneStopsNobody) {
  Parquet("X.parquet", 8, 800);
  tree_.File("y.parquet", std::string(500, 'y'));
  EXPECT_THAT(LeftPaths(), ElementsAre("y.parquet"));
}

}  // namespace
}  // namespace shufflefs
