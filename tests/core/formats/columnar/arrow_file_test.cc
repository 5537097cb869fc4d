// SPDX-License-Identifier: Apache-2.0
#include "core/formats/columnar/arrow_file.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/random/permutation.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/formats/columnar/arrow_fixture.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing_support::ArrowBatchesAt;
using testing_support::ArrowBlock;
using testing_support::ArrowBlocks;
using testing_support::ArrowFooterOf;
using testing_support::ArrowTail;
using testing_support::PutNumber;

constexpr uint64_t kDataEnd = 100000;  // where the footers here begin

using Parsed = absl::StatusOr<std::unique_ptr<ColumnarFooter>>;

Parsed Parse(const std::string& footer) {
  // A copy without a byte behind it, so that a sanitizer sees a look there.
  const std::vector<char> exact(footer.begin(), footer.end());
  return ParseArrowFooter({exact.data(), exact.size()},
                          kDataEnd + footer.size());
}

absl::Status Damaged(uint64_t at) {
  return absl::DataLossError(
      absl::StrCat("its metadata is invalid at byte ", kDataEnd + at));
}

std::string Replaced(std::string footer, const ColumnarFooter& parsed,
                     const std::vector<uint64_t>& order) {
  const std::string bytes = parsed.ReorderedBytes(
      [&](uint64_t at) { return order[at]; }, 0, parsed.size());
  EXPECT_EQ(bytes.size(), parsed.size());
  for (uint64_t from = 0; from <= bytes.size(); from += 1 + bytes.size() / 7) {
    const uint64_t to = std::min<uint64_t>(from + 100, bytes.size());
    EXPECT_TRUE(parsed.ReorderedBytes([&](uint64_t at) { return order[at]; },
                                      from,
                                      to) == bytes.substr(from, to - from));
  }
  return footer.replace(parsed.begin() - kDataEnd, parsed.size(), bytes);
}

std::vector<ArrowBlock> Blocks(size_t count) {
  std::vector<ArrowBlock> blocks(count);
  int64_t at = 64;
  for (size_t i = 0; i < count; ++i) {
    blocks[i] = {at, 56, static_cast<int64_t>(8 * (i % 5))};
    at += 56 + blocks[i].body_bytes;
  }
  return blocks;
}

TEST(ArrowFileTest, FindsTheBatches) {
  const std::string footer = ArrowFooterOf(Blocks(3), {{}, {}});
  ASSERT_EQ(*ArrowFooterBytes(footer.substr(footer.size() - 10)),
            footer.size());
  const Parsed parsed = Parse(footer);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ((*parsed)->count(), 3u);
  EXPECT_EQ((*parsed)->begin(), kDataEnd + ArrowBatchesAt(2));
  EXPECT_EQ((*parsed)->size(), 72u);
  EXPECT_THAT((*parsed)->group_begins(), ElementsAre(64, 120, 184));
  EXPECT_THAT((*parsed)->group_bytes(), ElementsAre(56, 64, 72));
  EXPECT_EQ(Replaced(footer, **parsed, {0, 1, 2}), footer);
}

// The footer of a file of 842 bytes that pyarrow wrote: three batches, of one,
// two and three 64-bit numbers.
TEST(ArrowFileTest, ReadsWhatPyarrowWrote) {
  std::string footer;
  ASSERT_TRUE(absl::Base64Unescape(
      "EAAAAAwAFAAGAAgADAAQAAwAAAAAAAQAZAAAAFQAAAAEAAAAAwAAAIgAAAAAAAAAkAAAAA"
      "AAAAAIAAAAAAAAACABAAAAAAAAkAAAAAAAAAAQAAAAAAAAAMABAAAAAAAAkAAAAAAAAAAY"
      "AAAAAAAAAAAAAAAIAAgAAAAEAAgAAAAEAAAAAQAAABQAAAAQABQACAAGAAcADAAAABAAEA"
      "AAAAAAAQIQAAAAHAAAAAQAAAAAAAAAAQAAAHgAAAAIAAwACAAHAAgAAAAAAAABQAAAANAA"
      "AABBUlJPVzE=",
      &footer));
  ASSERT_EQ(footer.size(), 218u);
  const Parsed parsed = ParseArrowFooter(footer, 842);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_THAT((*parsed)->group_begins(), ElementsAre(136, 288, 448));
  EXPECT_THAT((*parsed)->group_bytes(), ElementsAre(152, 160, 168));
}

TEST(ArrowFileTest, AnyPermutationIsTheFooterOfThePermutedBatches) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937_64 rng(seed);
  for (const size_t count : {0, 1, 2, 7, 100, 1000}) {
    const std::vector<ArrowBlock> blocks = Blocks(count);
    const std::string footer = ArrowFooterOf(blocks, Blocks(count % 3));
    const Parsed parsed = Parse(footer);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    std::vector<uint64_t> order(count);
    const Permutation mixed(count, RandomKey(rng()));
    for (uint64_t k = 0; k < count; ++k) order[k] = mixed(k);
    const std::string other = Replaced(footer, **parsed, order);
    std::vector<ArrowBlock> expected;
    for (const uint64_t group : order) expected.push_back(blocks[group]);
    ASSERT_TRUE(other == ArrowFooterOf(expected, Blocks(count % 3))) << count;
    const Parsed again = Parse(other);
    ASSERT_TRUE(again.ok()) << again.status();
    for (size_t at = 0; at < count; ++at) {
      ASSERT_EQ((*again)->group_begins()[at],
                (*parsed)->group_begins()[order[at]]);
    }
  }
}

TEST(ArrowFileTest, AFooterWithoutBatches) {
  std::string footer = ArrowFooterOf({}, {});
  PutNumber<uint16_t>(footer, 14, 0);  // no such field
  const Parsed parsed = Parse(footer);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ((*parsed)->count(), 0u);
  EXPECT_EQ((*parsed)->size(), 0u);
  EXPECT_THAT((*parsed)->group_bytes(), IsEmpty());
}

TEST(ArrowFileTest, BatchesThatLieOutsideTheFile) {
  for (const ArrowBlock& bad :
       {ArrowBlock{7, 56, 0}, ArrowBlock{-8, 56, 0}, ArrowBlock{8, 0, 0},
        ArrowBlock{8, -56, 0}, ArrowBlock{8, 56, -1},
        ArrowBlock{kDataEnd - 55, 56, 0}, ArrowBlock{kDataEnd - 56, 56, 1},
        ArrowBlock{kDataEnd + 8, 56, 0}, ArrowBlock{INT64_MAX, 56, 0},
        ArrowBlock{8, 56, INT64_MAX}, ArrowBlock{8, INT32_MAX, 0}}) {
    std::vector<ArrowBlock> blocks = Blocks(2);
    blocks[1] = bad;
    EXPECT_EQ(Parse(ArrowFooterOf(blocks, {})).status(),
              absl::DataLossError(absl::StrCat(
                  "its footer says at byte ", kDataEnd + ArrowBatchesAt(0) + 24,
                  " that a record batch has ", bad.metadata_bytes, " and ",
                  bad.body_bytes, " bytes at byte ", bad.offset,
                  ", but data ends at byte ", kDataEnd)));
  }
  EXPECT_TRUE(Parse(ArrowFooterOf({{kDataEnd - 57, 56, 1}}, {})).ok());
}

TEST(ArrowFileTest, FilesThatAreNoneOrCutOff) {
  EXPECT_EQ(ArrowFooterBytes("ARROW1").status(),
            absl::DataLossError("it is too short for an Arrow file"));
  EXPECT_EQ(ArrowFooterBytes("....ARROW2").status(),
            absl::DataLossError("it does not end as an Arrow file does"));
  EXPECT_EQ(ArrowFooterBytes(ArrowTail(~0U)).status(),
            absl::FailedPreconditionError("its footer has 4294967295 bytes"));
  const std::string footer = ArrowFooterOf(Blocks(2), {});
  EXPECT_EQ(ParseArrowFooter(footer, footer.size() + 7).status(),
            absl::DataLossError(absl::StrCat(
                "by its last bytes, its footer has ", footer.size(),
                " bytes, but it ends at byte ", footer.size() + 7)));
  EXPECT_EQ(Parse(footer.substr(1)).status(),
            absl::DataLossError(absl::StrCat("its footer has ", footer.size(),
                                             " bytes, of which ",
                                             footer.size() - 1, " were read")));
}

TEST(ArrowFileTest, SaysWhereItsTablesMakeNoSense) {
  const std::string footer = ArrowFooterOf(Blocks(2), {});
  const uint64_t size = footer.size() - 10;
  const auto with = [&](size_t at, auto number) {
    std::string changed = footer;
    PutNumber(changed, at, number);
    return Parse(changed).status();
  };
  EXPECT_EQ(Parse(ArrowTail(0)).status(), Damaged(0));
  EXPECT_EQ(with(0, ~uint32_t{0}), Damaged(size));         // the root
  EXPECT_EQ(with(20, int32_t{21}), Damaged(20));           // its vtable
  EXPECT_EQ(with(20, int32_t{INT32_MIN}), Damaged(size));  // far behind it
  EXPECT_EQ(with(4, uint16_t{3}), Damaged(4));
  EXPECT_EQ(with(4, uint16_t{13}), Damaged(4));
  EXPECT_EQ(with(4, uint16_t{0xFFFE}), Damaged(4));
  EXPECT_EQ(with(6, uint16_t{3}), Damaged(20));
  EXPECT_EQ(with(6, uint16_t{0xFFFE}), Damaged(20));
  EXPECT_EQ(with(14, uint16_t{15}), Damaged(14));  // over the table's end
  EXPECT_EQ(with(32, ~uint32_t{0}), Damaged(size));
  EXPECT_EQ(with(60, uint32_t{3}), Damaged(60));  // more blocks than bytes
  EXPECT_EQ(with(60, ~uint32_t{0}), Damaged(60));
}

// A list that lies over the table that says where it is.
TEST(ArrowFileTest, AListInItsOwnTable) {
  std::string footer = ArrowFooterOf(Blocks(2), {});
  PutNumber<uint32_t>(footer, 16, 1);  // padding in front of the table
  PutNumber<uint32_t>(footer, 32, 16 - 32);
  const Parsed behind = Parse(footer);
  EXPECT_EQ(behind.status(), Damaged(footer.size() - 10));  // no way back
  // The root is after the list, but the list is over its vtable.
  std::string moved(200, '\0');
  PutNumber<uint32_t>(moved, 0, 40);
  PutNumber<int32_t>(moved, 40, -40);  // the vtable is at 80
  PutNumber<uint32_t>(moved, 44, 12);  // the list at 60, of one block
  PutNumber<uint32_t>(moved, 56, 1);
  PutNumber<uint16_t>(moved, 80, 12);
  PutNumber<uint16_t>(moved, 82, 8);
  PutNumber<uint16_t>(moved, 90, 4);
  EXPECT_EQ(Parse(moved + ArrowTail(200)).status(), Damaged(60));
}

// Each byte of a footer in turn takes every value: what is accepted keeps its
// promise on length, and can be read again.
TEST(ArrowFileTest, AnyByteAtAnyPlace) {
  const std::string footer = ArrowFooterOf(Blocks(3), {{}});
  int accepted = 0;
  for (size_t at = 0; at < footer.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = footer;
      changed[at] = static_cast<char>(byte);
      const Parsed parsed = Parse(changed);
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
      const Parsed again = Parse(Replaced(changed, **parsed, order));
      ASSERT_TRUE(again.ok()) << again.status();
      std::vector<uint64_t> bytes = (*again)->group_bytes();
      std::reverse(bytes.begin(), bytes.end());
      ASSERT_EQ(bytes, (*parsed)->group_bytes());
    }
  }
  EXPECT_GT(accepted, 5000);  // of the dictionaries, the schema and padding
}

TEST(ArrowFileTest, KnowsTheFormatByItsFirstBytes) {
  EXPECT_TRUE(LooksLikeArrowFile({"ARROW1\0\0....", 12}));
  EXPECT_FALSE(LooksLikeArrowFile({"ARROW1\0", 7}));
  EXPECT_FALSE(LooksLikeArrowFile("ARROW1.."));
}

}  // namespace
}  // namespace shufflefs
