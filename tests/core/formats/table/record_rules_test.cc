// SPDX-License-Identifier: Apache-2.0
#include "core/formats/table/record_rules.h"

#include <string>

#include "core/formats/fixed_formats.h"
#include "core/formats/lines_format.h"
#include "core/formats/tar/tar_format.h"
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
  EXPECT_EQ(rules.Asked("abc.bin"), &IdxFormat());
  EXPECT_EQ(rules.Asked("xyz.bin"), &NpyFormat());
  EXPECT_EQ(rules.Asked("bin"), &LinesFormat());
}

TEST(RecordRulesTest, ARuleHasItsTextAsWritten) {
  const RecordRules rules = Rules(" a*.bin : idx ;*.bin:fixed,bytes=7;");
  ASSERT_EQ(rules.count(), 2u);
  EXPECT_EQ(rules.text(0), "a*.bin : idx");
  EXPECT_EQ(rules.text(1), "*.bin:fixed,bytes=7");
  EXPECT_EQ(rules.RuleOf("d/x.bin"), 1u);
  EXPECT_EQ(rules.RuleOf("x.bi"), absl::nullopt);
}

TEST(RecordRulesTest, APatternWithoutASlashIsOfTheNameAlone) {
  const RecordRules rules = Rules("*.svm:lines");
  EXPECT_EQ(rules.Asked("x.svm"), &LinesFormat());
  EXPECT_EQ(rules.Asked("deep/er/x.svm"), &LinesFormat());
  EXPECT_EQ(rules.Asked("x.svm/name"), nullptr);
  EXPECT_EQ(rules.Asked("x.svm.weight"), nullptr);
}

TEST(RecordRulesTest, APatternWithASlashIsOfThePathAsAShellDoes) {
  const RecordRules rules = Rules("train/*.csv:lines;[ab]/?:tar");
  EXPECT_EQ(rules.Asked("train/x.csv"), &LinesFormat());
  EXPECT_EQ(rules.Asked("train/deep/x.csv"), nullptr);
  EXPECT_EQ(rules.Asked("x.csv"), nullptr);
  EXPECT_EQ(rules.Asked("b/z"), &TarFormat());
  EXPECT_EQ(rules.Asked("c/z"), nullptr);
}

TEST(RecordRulesTest, ARuleMayHaveItsOwnOptions) {
  RecordOptions options;
  options.as =
      "a.bin:fixed,bytes=785,header=16;*.bin:fixed;"
      "*.csv:lines,header=1,csv=quoted;*.txt : lines , header = 2";
  options.bytes = 100;
  options.header = 3;
  const absl::StatusOr<RecordRules> rules = RecordRules::Parse(options);
  ASSERT_TRUE(rules.ok()) << rules.status();
  EXPECT_EQ(rules->OptionsOf("deep/a.bin").bytes, 785u);
  EXPECT_EQ(rules->OptionsOf("deep/a.bin").header, 16u);
  EXPECT_EQ(rules->OptionsOf("b.bin").bytes, 100u) << "that of the key";
  EXPECT_EQ(rules->OptionsOf("b.bin").header, 3u);
  EXPECT_EQ(rules->OptionsOf("x.csv").header, 1u);
  EXPECT_EQ(rules->OptionsOf("x.csv").csv, RecordOptions::Csv::kQuoted);
  EXPECT_EQ(rules->OptionsOf("x.txt").header, 2u);
  EXPECT_EQ(rules->OptionsOf("of no rule").bytes, 100u);
  EXPECT_EQ(rules->Asked("a.bin"), &FixedFormat());
}

TEST(RecordRulesTest, AnOptionThatARuleCannotHaveIsRefused) {
  ExpectRefused("*.npy:npy,bytes=5",
                "has the option \"bytes\"; npy takes none");
  ExpectRefused("*.bin:fixed,size=5",
                "has the option \"size\"; fixed takes bytes and header");
  ExpectRefused("*.bin:fixed,bytes=", "has no number after bytes=");
  ExpectRefused("*.bin:fixed,bytes=0", "needs the size of a record");
  ExpectRefused("*.csv:lines,header=1.5", "has no number after header=");
  ExpectRefused("*.csv:lines,csv=maybe", "plain or quoted");
}

TEST(RecordRulesTest, BlanksAroundARuleDoNotCount) {
  const RecordRules rules = Rules(" *.svm : lines ; ; x:y:tar;");
  EXPECT_EQ(rules.Asked("a.svm"), &LinesFormat());
  EXPECT_EQ(rules.Asked("x:y"), &TarFormat());
}

TEST(RecordRulesTest, WithoutRulesNothingIsAsked) {
  EXPECT_TRUE(Rules("").empty());
  EXPECT_TRUE(Rules(" ; ").empty());
  EXPECT_EQ(Rules("").Asked("a.tar"), nullptr);
}

TEST(RecordRulesTest, WhatIsNoRuleIsRefusedByName) {
  ExpectRefused("*.svm", "\"*.svm\"");
  ExpectRefused("*.svm:", "PATTERN:FORMAT");
  ExpectRefused(":lines", "\":lines\"");
  ExpectRefused(" :lines", "\":lines\"");
  ExpectRefused("a:tar;b:parquets", "\"b:parquets\"");
  ExpectRefused("*.bin:fixed", "record.bytes");
  EXPECT_EQ(Rules("*.bin:fixed", 3).Asked("x.bin"), &FixedFormat());
}

}  // namespace
}  // namespace shufflefs
