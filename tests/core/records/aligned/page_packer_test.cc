// SPDX-License-Identifier: Apache-2.0
#include "core/records/aligned/page_packer.h"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

struct Placed : public PlacedRecords {
  absl::Status Put(uint64_t offset, absl::string_view record) override {
    EXPECT_GE(offset, end);
    end = offset + record.size();
    records.emplace_back(offset, std::string(record));
    return puts_left-- > 0 ? absl::OkStatus() : absl::DataLossError("full");
  }
  std::vector<std::pair<uint64_t, std::string>> records;
  uint64_t end = 0;
  int puts_left = 1 << 30;
};

Placed Pack(uint64_t page, PageFit fit,
            const std::vector<std::string>& records) {
  Placed placed;
  PagePacker packer(page, fit, placed);
  for (const std::string& record : records) {
    EXPECT_TRUE(packer.Add(record).ok());
  }
  EXPECT_TRUE(packer.Finish().ok());
  return placed;
}

std::string Of(size_t bytes, char c) { return std::string(bytes, c); }

TEST(PagePackerTest, NextFitKeepsTheOrder) {
  const Placed placed =
      Pack(64, PageFit::kNext,
           {Of(40, 'a'), Of(30, 'b'), Of(20, 'c'), Of(64, 'd'), Of(16, 'e')});
  EXPECT_THAT(placed.records,
              ElementsAre(Pair(0, Of(40, 'a')), Pair(64, Of(30, 'b')),
                          Pair(94, Of(20, 'c')), Pair(128, Of(64, 'd')),
                          Pair(192, Of(16, 'e'))));
}

TEST(PagePackerTest, BestFitFillsThePageWithTheLeastRoom) {
  const Placed placed =
      Pack(64, PageFit::kBest,
           {Of(20, 'a'), Of(48, 'b'), Of(45, 'c'), Of(16, 'd'), Of(40, 'e')});
  // c finds no room; d fills b's page; e fits behind a alone.
  EXPECT_THAT(placed.records,
              ElementsAre(Pair(0, Of(48, 'b')), Pair(48, Of(16, 'd')),
                          Pair(64, Of(20, 'a')), Pair(84, Of(40, 'e')),
                          Pair(128, Of(45, 'c'))));
}

TEST(PagePackerTest, WhatIsLargerThanAPageBeginsWithOne) {
  for (const PageFit fit : {PageFit::kNext, PageFit::kBest}) {
    const Placed placed =
        Pack(64, fit, {Of(20, 'a'), Of(150, 'b'), Of(42, 'c'), Of(128, 'd')});
    EXPECT_EQ(placed.records.size(), 4u);
    for (const auto& [offset, record] : placed.records) {
      if (record.size() > 64) {
        EXPECT_EQ(offset % 64, 0u);
      }
    }
    EXPECT_EQ(placed.end, fit == PageFit::kNext ? 64 + 192 + 128 : 340);
  }
}

TEST(PagePackerTest, NothingIsNothing) {
  for (const PageFit fit : {PageFit::kNext, PageFit::kBest}) {
    EXPECT_TRUE(Pack(4096, fit, {}).records.empty());
  }
}

TEST(PagePackerTest, AnErrorComesThrough) {
  Placed placed;
  placed.puts_left = 1;
  PagePacker packer(64, PageFit::kNext, placed);
  ASSERT_TRUE(packer.Add(Of(40, 'a')).ok());
  ASSERT_TRUE(packer.Add(Of(40, 'b')).ok());
  EXPECT_EQ(packer.Add(Of(40, 'c')), absl::DataLossError("full"));
}

TEST(PagePackerTest, PagesAreCounted) {
  EXPECT_EQ(PagesOf(0, 1, 64), 1u);
  EXPECT_EQ(PagesOf(0, 64, 64), 1u);
  EXPECT_EQ(PagesOf(0, 65, 64), 2u);
  EXPECT_EQ(PagesOf(63, 2, 64), 2u);
  EXPECT_EQ(PagesOf(63, 66, 64), 3u);
}

// Every record once, none across a boundary that need not be, and no page is
// left out.
TEST(PagePackerTest, AnySizes) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937_64 rng(seed);
  for (int round = 0; round < 200; ++round) {
    const uint64_t page = uint64_t{64} << rng() % 5;
    std::vector<std::string> records(rng() % 3000);
    for (size_t i = 0; i < records.size(); ++i) {
      const uint64_t bytes =
          rng() % 20 == 0 ? page - 2 + rng() % 5
                          : 8 + rng() % (rng() % 30 == 0 ? 5 * page : page);
      records[i] = absl::StrCat(absl::Dec(i, absl::kZeroPad8));
      records[i].resize(std::max<uint64_t>(bytes, 8), 'x');
    }
    const PageFit fit = round % 2 == 0 ? PageFit::kNext : PageFit::kBest;
    const Placed placed = Pack(page, fit, records);
    ASSERT_EQ(placed.records.size(), records.size());
    std::vector<bool> seen(records.size());
    for (size_t i = 0; i < placed.records.size(); ++i) {
      const auto& [offset, record] = placed.records[i];
      const size_t id = std::stoul(record.substr(0, 8));
      ASSERT_EQ(record, records[id]);
      ASSERT_FALSE(seen[id]);
      seen[id] = true;
      if (record.size() <= page) {
        ASSERT_EQ(PagesOf(offset, record.size(), page), 1u);
      } else {
        ASSERT_EQ(offset % page, 0u);
      }
      if (fit == PageFit::kNext) {
        ASSERT_EQ(id, i);
      }
      const uint64_t end_before = i == 0
                                      ? 0
                                      : placed.records[i - 1].first +
                                            placed.records[i - 1].second.size();
      ASSERT_LT(offset - end_before, page);
    }
  }
}

TEST(PagePackerTest, BestFitWastesLess) {
  std::mt19937_64 rng(7);
  std::vector<std::string> records(20000);
  for (std::string& record : records) record.resize(100 + rng() % 1900);
  uint64_t bytes = 0;
  for (const std::string& record : records) bytes += record.size();
  const uint64_t next = Pack(4096, PageFit::kNext, records).end;
  const uint64_t best = Pack(4096, PageFit::kBest, records).end;
  EXPECT_LT(best, bytes + bytes / 50);
  EXPECT_GT(next, bytes + bytes / 10);
}

}  // namespace
}  // namespace shufflefs
