// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/records/index/offset_table_builder.h"
#include "core/records/index/word_select.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<const OffsetTable> TableOf(const std::vector<uint64_t>& sizes,
                                           uint64_t first = 0) {
  OffsetTableBuilder builder;
  if (!sizes.empty()) builder.Begin(first);
  for (const uint64_t size : sizes) builder.Add(size);
  return builder.Finish();
}

// Where each record begins, and where the last one ends.
std::vector<uint64_t> Begins(const std::vector<uint64_t>& sizes,
                             uint64_t first = 0) {
  std::vector<uint64_t> begins = {first};
  for (const uint64_t size : sizes) begins.push_back(begins.back() + size);
  return begins;
}

// The model: a plain vector and std::lower_bound.
uint64_t FirstFrom(const std::vector<uint64_t>& begins, uint64_t offset) {
  return static_cast<uint64_t>(
      std::lower_bound(begins.begin(), begins.end() - 1, offset) -
      begins.begin());
}

void ExpectIs(const OffsetTable& table, const std::vector<uint64_t>& begins) {
  ASSERT_EQ(table.count(), begins.size() - 1);
  for (uint64_t i = 0; i < begins.size(); ++i) {
    ASSERT_EQ(table.begin(i), begins[i]) << i;
    for (const uint64_t offset : {begins[i] - 1, begins[i], begins[i] + 1}) {
      ASSERT_EQ(table.FirstFrom(offset), FirstFrom(begins, offset)) << offset;
    }
  }
  ASSERT_EQ(table.FirstFrom(0), FirstFrom(begins, 0));
  for (uint64_t from = 0; from < begins.size(); from += 1 + from / 2) {
    for (const uint64_t some :
         {uint64_t{0}, uint64_t{1}, uint64_t{70}, begins.size() - from}) {
      std::vector<uint64_t> got(std::min(some, begins.size() - from));
      table.Begins(from, absl::MakeSpan(got));
      ASSERT_TRUE(std::equal(got.begin(), got.end(),
                             begins.begin() + static_cast<ptrdiff_t>(from)))
          << from << " " << some;
    }
  }
  ASSERT_EQ(table.FirstFrom(~uint64_t{0}), table.count());
}

// Saving and loading gives the same table.
void ExpectReloads(const OffsetTable& table,
                   const std::vector<uint64_t>& begins) {
  const auto loaded = OffsetTable::FromWords(
      table.extent(), {table.words().begin(), table.words().end()});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ExpectIs(**loaded, begins);
}

using Sizes = std::function<uint64_t(std::mt19937_64&)>;

// Sizes of records, by name. The mean is about `mean`.
std::vector<std::pair<std::string, Sizes>> Spreads(uint64_t mean) {
  return {
      {"equal", [=](auto&) { return mean; }},
      {"uniform", [=](auto& rng) { return 1 + rng() % (2 * mean - 1); }},
      {"exponential",
       [=](auto& rng) {
         const double u = static_cast<double>(rng() >> 11) * 0x1p-53;
         return 1 + static_cast<uint64_t>(-std::log1p(-u) *
                                          static_cast<double>(mean - 1));
       }},
      // Nearly all records of one byte, and now and then a huge one.
      {"heavy",
       [=](auto& rng) {
         return rng() % 4096 == 0 ? 1 + 4096 * (mean - 1) : 1;
       }},
      {"two sizes",
       [=](auto& rng) { return rng() % 2 == 0 ? 1 : 2 * mean - 1; }},
  };
}

std::vector<uint64_t> Drawn(const Sizes& draw, uint64_t count,
                            std::mt19937_64& rng) {
  std::vector<uint64_t> sizes(count);
  for (uint64_t& size : sizes) size = draw(rng);
  return sizes;
}

TEST(OffsetTableTest, IsThePlainVector) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937_64 rng(seed);
  for (int round = 0; round < 60; ++round) {
    const uint64_t mean = 1 + rng() % (uint64_t{1} << rng() % 30);
    const uint64_t first = rng() % 2 == 0 ? 0 : rng() % 1'000'000;
    for (const auto& [name, draw] : Spreads(mean)) {
      SCOPED_TRACE(absl::StrCat("round ", round, ", ", name, ", mean ", mean));
      const auto sizes = Drawn(draw, rng() % 3000, rng);
      const auto begins = Begins(sizes, sizes.empty() ? 0 : first);
      const auto table = TableOf(sizes, first);
      ASSERT_NO_FATAL_FAILURE(ExpectIs(*table, begins));
      ASSERT_NO_FATAL_FAILURE(ExpectReloads(*table, begins));
    }
  }
}

// More than one block of counts and of the builder, in each way of being large.
TEST(OffsetTableTest, ManyRecords) {
  std::mt19937_64 rng(7);
  for (const auto& [name, draw] : Spreads(300)) {
    SCOPED_TRACE(name);
    const auto sizes = Drawn(draw, 200'000, rng);
    ASSERT_NO_FATAL_FAILURE(ExpectIs(*TableOf(sizes), Begins(sizes)));
  }
  // First all the small ones: every guess is far off.
  std::vector<uint64_t> sizes(100'000, 1);
  sizes.insert(sizes.end(), 100'000, 5000);
  ASSERT_NO_FATAL_FAILURE(ExpectIs(*TableOf(sizes), Begins(sizes)));
  std::reverse(sizes.begin(), sizes.end());
  ASSERT_NO_FATAL_FAILURE(ExpectIs(*TableOf(sizes), Begins(sizes)));
}

TEST(OffsetTableTest, NoRecord) {
  const auto table = TableOf({});
  EXPECT_EQ(table->count(), 0u);
  EXPECT_EQ(table->begin(0), 0u);
  EXPECT_EQ(table->FirstFrom(0), 0u);
  EXPECT_EQ(table->FirstFrom(17), 0u);
  EXPECT_TRUE(table->words().empty());
  EXPECT_TRUE(OffsetTable::FromWords({}, {}).ok());
}

TEST(OffsetTableTest, OneRecord) {
  constexpr uint64_t kHuge = (uint64_t{1} << 63) - 5;
  for (const uint64_t bytes :
       {uint64_t{1}, uint64_t{2}, uint64_t{63}, uint64_t{1} << 33, kHuge}) {
    SCOPED_TRACE(bytes);
    const auto table = TableOf({bytes}, 5);
    ExpectIs(*table, {5, 5 + bytes});
    EXPECT_EQ(table->bytes(0), bytes);
    ExpectReloads(*table, {5, 5 + bytes});
  }
}

TEST(OffsetTableTest, LargeRecordsAndFarOffsets) {
  std::vector<uint64_t> sizes(3000, uint64_t{1} << 33);
  for (size_t i = 0; i < sizes.size(); i += 3) sizes[i] = 1 + i;
  const auto begins = Begins(sizes, uint64_t{1} << 41);
  const auto table = TableOf(sizes, uint64_t{1} << 41);
  ExpectIs(*table, begins);
  ExpectReloads(*table, begins);
}

TEST(OffsetTableTest, TheBuilderIsEmptyAfterFinish) {
  OffsetTableBuilder builder;
  for (const uint64_t first : {10, 20}) {
    builder.Begin(first);
    builder.Add(4);
    builder.Add(6);
    EXPECT_EQ(builder.count(), 2u);
    EXPECT_EQ(builder.end(), first + 10);
    ExpectIs(*builder.Finish(), {first, first + 4, first + 10});
    EXPECT_EQ(builder.count(), 0u);
  }
  EXPECT_EQ(builder.Finish()->count(), 0u);
}

uint64_t BudgetBits(const std::vector<uint64_t>& begins) {
  const uint64_t count = begins.size() - 1;
  const auto mean = static_cast<long double>(begins.back() - begins[0]) / count;
  const auto log2_mean = static_cast<uint64_t>(std::ceil(std::log2(mean)));
  return count * std::max<uint64_t>(16, 2 + log2_mean);
}

// DESIGN: max(2 bytes, (2 + ceil(log2 mean record bytes)) / 8) a record, all
// directories counted, beside what a file has once.
TEST(OffsetTableTest, KeepsItsMemoryBound) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937_64 rng(seed);
  for (const uint64_t mean :
       {1, 2, 100, 330, 4096, 8191, 8192, 8193, 16000, 16383, 16384, 16385,
        65535, 65536, 100'000, 131'071, 1 << 20, 1 << 30}) {
    for (const uint64_t count : {1, 100, 30'000, 700'000}) {
      for (const auto& [name, draw] : Spreads(mean)) {
        SCOPED_TRACE(absl::StrCat(count, " records, ", name, ", mean ", mean));
        const auto sizes = Drawn(draw, count, rng);
        const uint64_t bytes = TableOf(sizes)->memory_bytes();
        ASSERT_LE(bytes,
                  BudgetBits(Begins(sizes)) / 8 + OffsetTable::kFixedBytes);
        // Small records leave room for everything.
        if (mean <= 4096) {
          ASSERT_LE(bytes, BudgetBits(Begins(sizes)) / 8 + 1024);
        }
      }
    }
  }
}

// Where the bits leave no room for counts 512 bits apart, they lie further.
TEST(OffsetTableTest, FewerCountsWhereThereIsNoRoom) {
  constexpr uint64_t kCount = 3'000'000;
  const std::vector<uint64_t> sizes(kCount, 1 << 14);
  const auto table = TableOf(sizes);
  EXPECT_LE(table->memory_bytes(), kCount * 2 + OffsetTable::kFixedBytes);
  for (uint64_t i = 0; i <= kCount; i += 997) {
    ASSERT_EQ(table->begin(i), i << 14);
    ASSERT_EQ(table->FirstFrom((i << 14) - (i > 0 ? 1 : 0)), i);
  }
}

TEST(OffsetTableTest, TheBuilderHoldsAFewBytesARecord) {
  OffsetTableBuilder builder;
  builder.Begin(0);
  for (int i = 0; i < 1'000'000; ++i) builder.Add(330);
  EXPECT_LE(builder.memory_bytes(), 2'000'000u + 70'000u);
}

std::string Refusal(const OffsetTable::Extent& extent,
                    std::vector<uint64_t> words) {
  const auto table = OffsetTable::FromWords(extent, std::move(words));
  EXPECT_EQ(table.status().code(), absl::StatusCode::kDataLoss);
  return std::string(table.status().message());
}

TEST(OffsetTableTest, RefusesExtentsThatCannotBe) {
  EXPECT_THAT(Refusal({.count = 1, .first = 9, .end = 8}, {1}),
              HasSubstr("no 1 records lie between byte 9 and byte 8"));
  EXPECT_THAT(Refusal({.count = 0, .first = 8, .end = 9}, {}),
              HasSubstr("no 0 records"));
  EXPECT_THAT(Refusal({.count = 3, .first = 8, .end = 10}, {7}),
              HasSubstr("no 3 records"));
  EXPECT_THAT(Refusal({.count = 1, .end = (uint64_t{1} << 63) + 1}, {1, 2}),
              HasSubstr("no 1 records"));
  constexpr uint64_t kMany = uint64_t{1} << 62;
  EXPECT_THAT(Refusal({.count = kMany, .end = kMany}, {1, 2}),
              HasSubstr("2 words do not tell where"));
  EXPECT_THAT(Refusal({.count = 65, .end = 65}, {1}),
              HasSubstr("1 words do not tell where 65 records are"));
}

TEST(OffsetTableTest, RefusesAWordTooManyOrTooFew) {
  std::mt19937_64 rng(12);
  const auto table = TableOf(Drawn(Spreads(100)[1].second, 300, rng));
  std::vector<uint64_t> words(table->words().begin(), table->words().end());
  words.push_back(0);
  EXPECT_THAT(Refusal(table->extent(), words), HasSubstr("words do not tell"));
  words.resize(words.size() - 2);
  EXPECT_THAT(Refusal(table->extent(), words), HasSubstr("words do not tell"));
}

// Whatever the words are, the table is refused or is one: its records tile
// what lies between its ends.
TEST(OffsetTableTest, RefusesWordsThatAreNoTable) {
  std::mt19937_64 rng(11);
  auto sizes = Drawn(Spreads(100)[1].second, 300, rng);
  // The last record begins so late that most changes of its low part put it
  // past the end.
  sizes.push_back(1);
  const auto table = TableOf(sizes, 3);
  const std::vector<uint64_t> good(table->words().begin(),
                                   table->words().end());
  int refused = 0;
  for (size_t bit = 0; bit < good.size() * 64; ++bit) {
    std::vector<uint64_t> words = good;
    words[bit / 64] ^= uint64_t{1} << bit % 64;
    const auto loaded = OffsetTable::FromWords(table->extent(), words);
    if (!loaded.ok()) {
      EXPECT_THAT(std::string(loaded.status().message()),
                  HasSubstr("are not consecutive"));
      ++refused;
      continue;
    }
    std::vector<uint64_t> begins;
    for (uint64_t i = 0; i <= sizes.size(); ++i) {
      begins.push_back((*loaded)->begin(i));
    }
    ASSERT_TRUE(
        std::is_sorted(begins.begin(), begins.end(), std::less_equal<>()))
        << bit;
    ASSERT_EQ(begins.front(), 3u);
    ASSERT_NO_FATAL_FAILURE(ExpectIs(**loaded, begins));
  }
  // Every bit of the high parts and of the padding, and some of the low ones.
  EXPECT_GE(refused, 900);
}

TEST(WordSelectTest, IsTheBitLoop) {
  std::mt19937_64 rng(3);
  for (int round = 0; round < 20'000; ++round) {
    uint64_t word = rng();
    for (uint64_t dense = rng() % 5; dense > 0; --dense) word &= rng();
    if (rng() % 2 == 0) word = ~word;
    uint64_t index = 0;
    for (uint64_t at = 0; at < 64; ++at) {
      if ((word >> at & 1) == 0) continue;
      ASSERT_EQ(SelectInWord(word, index), at) << word;
      ++index;
    }
    ASSERT_EQ(BitsIn(word), index);
  }
}

}  // namespace
}  // namespace shufflefs
