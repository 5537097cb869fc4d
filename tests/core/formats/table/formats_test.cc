// SPDX-License-Identifier: Apache-2.0
#include "core/formats/table/formats.h"

#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/formats/columnar/columnar_formats.h"
#include "core/formats/tar/tar_format.h"
#include "core/formats/tfrecord/tfrecord_format.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

TEST(FormatsTest, HaveNamesOfTheirOwn) {
  std::set<absl::string_view> names;
  for (const RecordFormat* format : RecordFormats()) {
    EXPECT_TRUE(names.insert(format->name()).second) << format->name();
    EXPECT_EQ(FormatNamed(format->name()), format);
  }
  EXPECT_EQ(FormatNamed("Lines"), nullptr);
  EXPECT_EQ(FormatNamed(""), nullptr);
  EXPECT_EQ(FormatNames(),
            "tfrecord, tar, parquet, arrow, lines, fixed, npy, idx");
}

// Two formats that claim one name would take files from each other.
TEST(FormatsTest, ClaimSuffixesOfTheirOwn) {
  std::set<std::string> claimed;
  int shards = 0;
  for (const RecordFormat* format : RecordFormats()) {
    for (const auto suffixes :
         {format->suffixes(), format->likely_suffixes()}) {
      for (const absl::string_view suffix : suffixes) {
        EXPECT_TRUE(claimed.insert(std::string(suffix)).second) << suffix;
      }
    }
    shards += format->names_shards() ? 1 : 0;
  }
  EXPECT_EQ(shards, 1);
}

// What none of the three ways finds would be no container and no error.
TEST(FormatsTest, FindTheirRecordsInOneWayAtLeast) {
  const std::string content(4096, '\0');
  RecordOptions options;
  options.bytes = 16;
  const CandidateFile file{"file", content.size(), &options};
  for (const RecordFormat* format : RecordFormats()) {
    const auto head = format->ReadHead(file, content);
    EXPECT_TRUE(format->tail_bytes() > 0 || !head.ok() || head->has_value() ||
                format->MakeScanner(file) != nullptr)
        << format->name();
  }
}

TEST(FormatsTest, SomeNamesSayWhatTheyAre) {
  for (const char* name : {"a.tar", "A.TAR", "x.y.tar"}) {
    EXPECT_EQ(FormatByName(name), &TarFormat()) << name;
  }
  for (const char* name : {"a.tfrecord", "a.TFRecords", "train-00000-of-01024",
                           "x.tfrecord-00007-of-00008", "a-1-of-2"}) {
    EXPECT_EQ(FormatByName(name), &TfrecordFormat()) << name;
  }
  EXPECT_EQ(FormatByName("part-0.snappy.PARQUET"), &ParquetFormat());
  for (const char* name :
       {"data-00000-of-00002.arrow", "a.arrows", "a.feather"}) {
    EXPECT_EQ(FormatByName(name), &ArrowFormat()) << name;
  }
  for (const char* name :
       {"", "tar", "a.tar.gz", "a.npy", "a.csv", "a.svm", "t10k-images-idx3",
        "best-of-10", "train-00000-of-", "train-of-5", "train-x-of-5",
        "tfrecord", "a.tfrecord.idx", "parquet", "a.parquet.crc", "a.arrow.gz",
        "_metadata"}) {
    EXPECT_EQ(FormatByName(name), nullptr) << name;
  }
}

TEST(FormatsTest, EachSuffixIsFoundByNameInAnyCase) {
  for (const RecordFormat* format : RecordFormats()) {
    for (const absl::string_view suffix : format->suffixes()) {
      const std::string name = absl::StrCat("a", suffix);
      EXPECT_EQ(FormatByName(name), format) << name;
      EXPECT_EQ(FormatByName(absl::AsciiStrToUpper(name)), format) << name;
      EXPECT_EQ(FormatByName(name + "g"), nullptr) << name;
    }
  }
}

}  // namespace
}  // namespace shufflefs
