// SPDX-License-Identifier: Apache-2.0
#include "core/formats/tfrecord/tfrecord_index.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/records/index/offset_table_builder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/formats/record_list.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;

std::shared_ptr<const OffsetTable> TableOf(const std::vector<uint64_t>& sizes,
                                           uint64_t first = 0) {
  OffsetTableBuilder builder;
  if (!sizes.empty()) builder.Begin(first);
  for (const uint64_t bytes : sizes) builder.Add(bytes);
  return builder.Finish();
}

std::vector<uint64_t> InFileOrder(const RecordTable& table) {
  std::vector<uint64_t> order(table.count());
  std::iota(order.begin(), order.end(), uint64_t{0});
  return order;
}

TEST(TfrecordIndexTest, IsALineARecord) {
  const auto table = TableOf({19, 16, 120});
  EXPECT_EQ(WriteTfrecordIndex(*table, {0, 1, 2}), "0 19\n19 16\n35 120\n");
  EXPECT_EQ(WriteTfrecordIndex(*table, {2, 0, 1}), "0 120\n120 19\n139 16\n");
  EXPECT_EQ(WriteTfrecordIndex(*table, {2, 0, 1}, {.offset = 4, .bytes = 3}),
            "   0 120\n 120  19\n 139  16\n");
  EXPECT_EQ(WriteTfrecordIndex(*TableOf({}), {}), "");
}

TEST(TfrecordIndexTest, KnowsTheIndexOfATable) {
  const auto table = TableOf({19, 16, 120});
  EXPECT_TRUE(IsTfrecordIndexOf("0 19\n19 16\n35 120\n", *table));
  EXPECT_TRUE(IsTfrecordIndexOf("0 19\r\n19\t16 \n 35 120", *table));
  EXPECT_FALSE(IsTfrecordIndexOf("0 19\n19 16\n35 120\n155 16\n", *table));
  EXPECT_FALSE(IsTfrecordIndexOf("0 19\n19 16\n", *table));
  EXPECT_FALSE(IsTfrecordIndexOf("0 19\n19 16\n35 104\n", *table));
  EXPECT_FALSE(IsTfrecordIndexOf("0 120\n120 19\n139 16\n", *table));
  EXPECT_FALSE(IsTfrecordIndexOf("0 19\n19 16\n35 120\n\n", *table));
  EXPECT_FALSE(IsTfrecordIndexOf("", *table));
  EXPECT_TRUE(IsTfrecordIndexOf("", *TableOf({})));
  EXPECT_FALSE(IsTfrecordIndexOf("0 19\n", *TableOf({})));
}

TEST(TfrecordIndexTest, RefusesWhatIsNone) {
  EXPECT_THAT(*ParseTfrecordIndex("0 19\n19 16\n"),
              ElementsAre(TfrecordSpan{0, 19}, TfrecordSpan{19, 16}));
  for (const std::string bad :
       {"0 19\n19", "0 19\n-19 16\n", "0 19\n+19 16\n", "0 19\n1e3 16\n",
        "0 19\n19 16 0\n", "0 19\n19,16\n", "0 19\n\n19 16\n",
        "0 19\n18446744073709551616 16\n", "0 19\n0x13 16\n"}) {
    const absl::Status status = ParseTfrecordIndex(bad).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad;
    EXPECT_EQ(status.message(), "line 2 is not an offset and a size") << bad;
  }
  EXPECT_THAT(*ParseTfrecordIndex("18446744073709551615 0"),
              ElementsAre(TfrecordSpan{~uint64_t{0}, 0}));
}

// What is written is read as the same, in any order and width, and with equal
// lines every order has a text of the same size.
TEST(TfrecordIndexTest, AnyOrderComesBack) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937_64 rng(seed);
  for (int round = 0; round < 100; ++round) {
    std::vector<uint64_t> sizes(rng() % 60);
    for (uint64_t& bytes : sizes) bytes = 16 + rng() % (1 << rng() % 20);
    const auto table = TableOf(sizes, rng() % 2 * 24);
    std::vector<uint64_t> order = InFileOrder(*table);
    EXPECT_TRUE(IsTfrecordIndexOf(WriteTfrecordIndex(*table, order), *table));
    const TfrecordIndexWidths equal = EqualLines(*table);
    const std::string lines = WriteTfrecordIndex(*table, order, equal);
    EXPECT_TRUE(IsTfrecordIndexOf(lines, *table));
    const bool smallest_last = rng() % 2 == 0;
    std::sort(order.begin(), order.end(), [&](uint64_t a, uint64_t b) {
      return smallest_last ? sizes[a] > sizes[b]
                           : sizes[a] * 37 % 101 < sizes[b] * 37 % 101;
    });
    const std::string text = WriteTfrecordIndex(*table, order, equal);
    EXPECT_EQ(text.size(), lines.size());
    EXPECT_EQ(text.size(), sizes.size() * (equal.offset + 1 + equal.bytes + 1));
    const auto spans = ParseTfrecordIndex(text);
    ASSERT_TRUE(spans.ok()) << spans.status();
    ASSERT_EQ(spans->size(), order.size());
    uint64_t at = table->begin(0);
    for (size_t i = 0; i < order.size(); ++i) {
      EXPECT_EQ((*spans)[i], (TfrecordSpan{at, sizes[order[i]]}));
      at += sizes[order[i]];
    }
  }
}

}  // namespace
}  // namespace shufflefs
