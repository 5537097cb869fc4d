// SPDX-License-Identifier: Apache-2.0
#include "core/formats/columnar/parquet_footer.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/random/permutation.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/formats/columnar/parquet_fixture.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using namespace testing_support;  // NOLINT: the numbers of the types

TEST(ParquetFooterTest, FindsTheRowGroups) {
  std::vector<ParquetGroup> groups = Groups(3, true);
  groups[1].dictionary = true;
  groups[2].column_bytes = {};
  const std::string footer = ParquetFooterOf(groups);
  ASSERT_EQ(*ParquetFooterBytes(footer.substr(footer.size() - 8)),
            footer.size());
  const ParquetParsed parsed = ParseFooter(footer);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ((*parsed)->count(), 3u);
  EXPECT_THAT((*parsed)->group_begins(), ElementsAre(4, 25, 0));
  EXPECT_THAT((*parsed)->group_bytes(), ElementsAre(21, 22, 0));
  EXPECT_EQ(
      footer.substr((*parsed)->begin() - kParquetDataEnd, (*parsed)->size()),
      ParquetRowGroupBytes(groups[0]) + ParquetRowGroupBytes(groups[1]) +
          ParquetRowGroupBytes(groups[2]));
  EXPECT_EQ(Replaced(footer, **parsed, {0, 1, 2}), footer);
}

// The footer of a file of 327 bytes that pyarrow wrote: three row groups of one
// number each.
TEST(ParquetFooterTest, ReadsWhatPyarrowWrote) {
  std::string footer;
  ASSERT_TRUE(absl::Base64Unescape(
      "FQQZLDUAGAZzY2hlbWEVAgAVAiUCGAF4ABYGGTwZHCYAHBUCGSUGABkYAXgVABYCFjoWOi"
      "YISRwVABUAFQIAPCkGGSYAAgAAABY6FgImCBY6ABkcJgAcFQIZJQYAGRgBeBUAFgIWOhY6"
      "JkJJHBUAFQAVAgA8KQYZJgACAAAAFjoWAiZCFjoAGRwmABwVAhklBgAZGAF4FQAWAhY6Fj"
      "omfEkcFQAVABUCADwpBhkmAAIAAAAWOhYCJnwWOgAoIHBhcnF1ZXQtY3BwLWFycm93IHZl"
      "cnNpb24gMjYuMC4xGRwcAAAA5AAAAFBBUjE=",
      &footer));
  const ParquetParsed parsed = ParseParquetFooter(footer, 327);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_THAT((*parsed)->group_begins(), ElementsAre(4, 33, 62));
  EXPECT_THAT((*parsed)->group_bytes(), ElementsAre(29, 29, 29));
}

TEST(ParquetFooterTest, OrdinalsBecomePositions) {
  std::vector<ParquetGroup> groups = Groups(3, true);
  const std::string footer = ParquetFooterOf(groups);
  const ParquetParsed parsed = ParseFooter(footer);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  std::vector<ParquetGroup> expected = {groups[2], groups[0], groups[1]};
  for (int i = 0; i < 3; ++i) expected[i].ordinal = i;
  EXPECT_EQ(Replaced(footer, **parsed, {2, 0, 1}), ParquetFooterOf(expected));
}

// The ordinals of these files take one byte, two or three.
TEST(ParquetFooterTest, AnyPermutationIsTheFooterOfThePermutedGroups) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937_64 rng(seed);
  for (const uint64_t count : {0, 1, 2, 14, 15, 16, 64, 65, 200, 8193}) {
    for (const bool ordinals : {false, true}) {
      const std::vector<ParquetGroup> groups = Groups(count, ordinals);
      const std::string footer = ParquetFooterOf(groups);
      // No data byte is read: there may be more than the other tests have.
      const uint64_t file_bytes = (uint64_t{1} << 40) + footer.size();
      const ParquetParsed parsed = ParseParquetFooter(footer, file_bytes);
      ASSERT_TRUE(parsed.ok()) << parsed.status();
      std::vector<uint64_t> order(count);
      const Permutation mixed(count, RandomKey(rng()));
      for (uint64_t k = 0; k < count; ++k) order[k] = mixed(k);
      const std::string bytes = (*parsed)->ReorderedBytes(
          [&](uint64_t at) { return order[at]; }, 0, (*parsed)->size());
      ASSERT_EQ(bytes.size(), (*parsed)->size());
      for (int i = 0; i < 10; ++i) {
        const uint64_t from = rng() % (bytes.size() + 1);
        const uint64_t to = from + rng() % (bytes.size() - from + 1);
        ASSERT_TRUE((*parsed)->ReorderedBytes(
                        [&](uint64_t at) { return order[at]; }, from, to) ==
                    bytes.substr(from, to - from))
            << count << " " << from << " " << to;
      }
      std::string other = footer;
      other.replace((*parsed)->begin() - (uint64_t{1} << 40), (*parsed)->size(),
                    bytes);
      std::vector<ParquetGroup> expected;
      for (uint64_t at = 0; at < count; ++at) {
        expected.push_back(groups[order[at]]);
        if (ordinals) expected.back().ordinal = static_cast<int>(at);
      }
      ASSERT_TRUE(other == ParquetFooterOf(expected)) << count;
      const ParquetParsed again = ParseParquetFooter(other, file_bytes);
      ASSERT_TRUE(again.ok()) << again.status();
      const auto begins = (*parsed)->group_begins();
      const auto new_begins = (*again)->group_begins();
      for (uint64_t at = 0; at < count; ++at) {
        ASSERT_EQ(new_begins[at], begins[order[at]]);
      }
    }
  }
}

// Another writer's ordinals need not follow the list.
TEST(ParquetFooterTest, OrdinalsInAnotherOrder) {
  std::vector<ParquetGroup> groups = Groups(3, true);
  groups[0].ordinal = 2;
  groups[2].ordinal = 0;
  const ParquetParsed parsed = ParseFooter(ParquetFooterOf(groups));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(Replaced(ParquetFooterOf(groups), **parsed, {0, 1, 2}),
            ParquetFooterOf(Groups(3, true)));
}

TEST(ParquetFooterTest, KnowsTheFormatByItsFirstBytes) {
  EXPECT_TRUE(LooksLikeParquet("PAR1...."));
  EXPECT_FALSE(LooksLikeParquet("PAR"));
  EXPECT_FALSE(LooksLikeParquet("PARE"));
}

}  // namespace
}  // namespace shufflefs
