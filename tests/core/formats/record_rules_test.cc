// SPDX-License-Identifier: Apache-2.0
#include "core/formats/record_rules.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

using ::testing::HasSubstr;

RecordRules Rules(const std::string& as, uint64_t bytes = 0) {
  RecordOptions options;
  options.as = as;
  options.bytes = bytes;
  absl::StatusOr<RecordRules> rules = RecordRules::Parse(options);
  EXPECT_TRUE(rules.ok()) << rules.status();
  return *std::move(rules);
}

void ExpectRefused(const std::string& as, const std::string& why) {
  RecordOptions options;
  options.as = as;
  const absl::Status status = RecordRules::Parse(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << as;
  EXPECT_THAT(std::string(status.message()), HasSubstr(why)) << as;
  EXPECT_THAT(std::string(status.message()), HasSubstr("record.as")) << as;
}

TEST(RecordRulesTest, TheFirstRuleThatMatchesDecides) {
  const RecordRules rules = Rules("a*.bin:idx;*.bin:npy;*:lines");
  EXPECT_EQ(rules.Asked("abc.bin"), RecordFormat::kIdx);
  EXPECT_EQ(rules.Asked("xyz.bin"), RecordFormat::kNpy);
  EXPECT_EQ(rules.Asked("bin"), RecordFormat::kLines);
}

TEST(RecordRulesTest, APatternWithoutASlashIsOfTheNameAlone) {
  const RecordRules rules = Rules("*.svm:lines");
  EXPECT_EQ(rules.Asked("x.svm"), RecordFormat::kLines);
  EXPECT_EQ(rules.Asked("deep/er/x.svm"), RecordFormat::kLines);
  EXPECT_FALSE(rules.Asked("x.svm/name").has_value());
  EXPECT_FALSE(rules.Asked("x.svm.weight").has_value());
}

TEST(RecordRulesTest, APatternWithASlashIsOfThePathAsAShellDoes) {
  const RecordRules rules = Rules("train/*.csv:lines;[ab]/?:tar");
  EXPECT_EQ(rules.Asked("train/x.csv"), RecordFormat::kLines);
  EXPECT_FALSE(rules.Asked("train/deep/x.csv").has_value());
  EXPECT_FALSE(rules.Asked("x.csv").has_value());
  EXPECT_EQ(rules.Asked("b/z"), RecordFormat::kTar);
  EXPECT_FALSE(rules.Asked("c/z").has_value());
}

TEST(RecordRulesTest, BlanksAroundARuleDoNotCount) {
  const RecordRules rules = Rules(" *.svm : lines ; ; x:y:tar;");
  EXPECT_EQ(rules.Asked("a.svm"), RecordFormat::kLines);
  EXPECT_EQ(rules.Asked("x:y"), RecordFormat::kTar);
}

TEST(RecordRulesTest, WithoutRulesNothingIsAsked) {
  EXPECT_TRUE(Rules("").empty());
  EXPECT_TRUE(Rules(" ; ").empty());
  EXPECT_FALSE(Rules("").Asked("a.tar").has_value());
}

TEST(RecordRulesTest, WhatIsNoRuleIsRefusedByName) {
  ExpectRefused("*.svm", "\"*.svm\"");
  ExpectRefused("*.svm:", "PATTERN:FORMAT");
  ExpectRefused(":lines", "\":lines\"");
  ExpectRefused(" :lines", "\":lines\"");
  ExpectRefused("a:tar;b:parquets", "\"b:parquets\"");
  ExpectRefused("*.bin:fixed", "record.bytes");
  EXPECT_EQ(Rules("*.bin:fixed", 3).Asked("x.bin"), RecordFormat::kFixed);
}

TEST(RecordRulesTest, FormatsHaveNames) {
  for (const RecordFormat format :
       {RecordFormat::kTfrecord, RecordFormat::kTar, RecordFormat::kParquet,
        RecordFormat::kArrow, RecordFormat::kLines, RecordFormat::kFixed,
        RecordFormat::kNpy, RecordFormat::kIdx}) {
    EXPECT_EQ(RecordFormatOf(RecordFormatName(format)), format);
  }
  EXPECT_FALSE(RecordFormatOf("Lines").has_value());
  EXPECT_FALSE(RecordFormatOf("").has_value());
}

TEST(RecordRulesTest, SomeNamesSayWhatTheyAre) {
  for (const char* name : {"a.tar", "A.TAR", "x.y.tar"}) {
    EXPECT_EQ(FormatByName(name), RecordFormat::kTar) << name;
  }
  for (const char* name : {"a.tfrecord", "a.TFRecords", "train-00000-of-01024",
                           "x.tfrecord-00007-of-00008", "a-1-of-2"}) {
    EXPECT_EQ(FormatByName(name), RecordFormat::kTfrecord) << name;
  }
  EXPECT_EQ(FormatByName("part-0.snappy.PARQUET"), RecordFormat::kParquet);
  for (const char* name :
       {"data-00000-of-00002.arrow", "a.arrows", "a.feather"}) {
    EXPECT_EQ(FormatByName(name), RecordFormat::kArrow) << name;
  }
  for (const char* name :
       {"", "tar", "a.tar.gz", "a.npy", "a.csv", "a.svm", "t10k-images-idx3",
        "best-of-10", "train-00000-of-", "train-of-5", "train-x-of-5",
        "tfrecord", "a.tfrecord.idx", "parquet", "a.parquet.crc", "a.arrow.gz",
        "_metadata"}) {
    EXPECT_FALSE(FormatByName(name).has_value()) << name;
  }
}

}  // namespace
}  // namespace shufflefs
