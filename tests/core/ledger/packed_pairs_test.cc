// SPDX-License-Identifier: Apache-2.0
// Pairs as bits, in memory and in a record of the ledger.
#include "core/ledger/packed_pairs.h"

#include <utility>
#include <vector>

#include "core/ledger/ledger_pairs.h"
#include "core/random/random.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

using Pairs = std::vector<NameBinding>;

TEST(PackedPairs, GiveBackWhatWasAdded) {
  for (uint32_t width = 1; width <= PackedPairs::kMaxWidth; ++width) {
    SCOPED_TRACE(width);
    const uint64_t limit = uint64_t{1} << width;
    PackedPairs packed(limit);
    EXPECT_EQ(packed.width(), width);
    Rng rng(SubKey(RandomKey(1), width));
    Pairs pairs = {{limit - 1, limit - 1}, {0, 0}, {limit - 1, 0}};
    while (pairs.size() < 200) {
      pairs.push_back({rng.Bounded(limit), rng.Bounded(limit)});
    }
    for (const NameBinding& pair : pairs) packed.Add(pair);
    packed.Trim();
    ASSERT_EQ(packed.size(), pairs.size());
    EXPECT_EQ(packed.words().size(), (200 * 2 * width + 63) / 64);
    const PackedPairs part = packed.Part(128, 64);
    ASSERT_EQ(part.size(), 64);
    ASSERT_EQ(packed.Part(192, 64).size(), 8);
    for (uint64_t i = 0; i < pairs.size(); ++i) {
      ASSERT_EQ(packed[i], pairs[i]) << i;
      if (i >= 128 && i < 192) {
        ASSERT_EQ(part[i - 128], pairs[i]) << i;
      }
    }
  }
}

TEST(PackedPairs, AreAsWideAsTheLargestNumber) {
  for (const auto& [limit, width] :
       std::vector<std::pair<uint64_t, uint32_t>>{{0, 1},
                                                  {1, 1},
                                                  {2, 1},
                                                  {3, 2},
                                                  {4, 2},
                                                  {5, 3},
                                                  {1000, 10},
                                                  {1 << 20, 20},
                                                  {(1 << 20) + 1, 21},
                                                  {kMaxLedgerNames, 40}}) {
    EXPECT_EQ(PackedPairs(limit).width(), width) << limit;
  }
}

TEST(LedgerPairsFormat, FieldsThatDoNotFitAreRefused) {
  using namespace ledger_format;
  PackedPairs pairs(1000);
  for (uint64_t i = 0; i < 10; ++i) pairs.Add({i, 999 - i});
  const absl::StatusOr<Words> good = EncodePairSet(3, {true, pairs}, 0);
  ASSERT_TRUE(good.ok());
  const absl::StatusOr<PairSet> back = DecodePairSet(*good);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_TRUE(back->consumed);
  EXPECT_EQ(back->pairs[9], (NameBinding{9, 990}));
  // Flag, count, width; each too large, and one that leaves words over.
  const std::vector<std::pair<size_t, uint64_t>> wrong = {
      {1, 2}, {2, 13}, {2, kMaxSetPairs + 1}, {2, 1}, {3, 0}, {3, 41}, {3, 40}};
  for (const auto& [word, value] : wrong) {
    Words bad = *good;
    bad[word] = value;
    EXPECT_EQ(DecodePairSet(bad).status().code(), absl::StatusCode::kDataLoss)
        << word << " " << value;
  }
  const Words shorter(good->begin(), good->begin() + 2);
  EXPECT_EQ(DecodePairSet(shorter).status().code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(DecodeShown(*good).status().code(), absl::StatusCode::kDataLoss);
  PackedPairs many(2);
  for (uint64_t i = 0; i <= kMaxSetPairs; ++i) many.Add({0, 1});
  EXPECT_EQ(EncodePairSet(3, {true, many}, 0).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace shufflefs
