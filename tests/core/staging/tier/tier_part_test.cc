// SPDX-License-Identifier: Apache-2.0
// The bytes after the ranges of a part: what is written comes back, and what
// was damaged, cut off or made up is refused.
#include "core/staging/tier/tier_part.h"

#include <xxhash.h>

#include <cstring>

#include "core/random/random.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

struct Made {
  TierTable table;
  uint64_t data_bytes = 0;
  std::string tail;
  uint64_t part_bytes() const { return data_bytes + tail.size(); }
};

// Ranges of which some are of one file.
Made Make(uint64_t seed, int ranges) {
  Rng rng{RandomKey(seed)};
  Made made;
  made.table.state = rng.Next();
  for (int i = 0; i < ranges; ++i) {
    const uint64_t length = 1 + rng.Bounded(3 * kTierCheckBytes);
    const EntryId file(static_cast<uint32_t>(i / 2 * 7 + 3));
    const uint64_t from =
        i % 2 == 0 ? 0 : rng.Bounded(1000) * kTierPage + kTierPage;
    made.table.ranges.push_back({{file, from, length}, made.data_bytes});
    for (uint64_t c = 0; c < TierChecksOf(length); ++c) {
      made.table.checks.push_back(rng.Next());
    }
    made.data_bytes += TierRoundUp(length);
    if (rng.Bounded(3) == 0) made.data_bytes += kTierPage;  // a hole
  }
  made.tail = SerializeTierTail(made.table, made.data_bytes);
  return made;
}

void Seal(std::string& tail) {
  const uint64_t sum = XXH3_64bits(tail.data(), tail.size() - 8);
  std::memcpy(tail.data() + tail.size() - 8, &sum, sizeof sum);
}

void SetWord(std::string& tail, size_t at, uint64_t word) {
  std::memcpy(tail.data() + at, &word, sizeof word);
  Seal(tail);
}

TEST(TierPartTest, WhatIsWrittenComesBack) {
  for (const int ranges : {1, 2, 17, 300}) {
    const Made made = Make(ranges, ranges);
    ASSERT_EQ(made.tail.size(),
              TierTailBytes(ranges, made.table.checks.size()));
    EXPECT_EQ(made.tail.size() % kTierPage, 0u);
    const auto at = TierTailAt(absl::string_view(made.tail).substr(
                                   made.tail.size() - kTierFooterBytes),
                               made.part_bytes());
    ASSERT_TRUE(at.ok()) << at.status();
    EXPECT_EQ(*at, made.data_bytes);
    const auto table = ParseTierTail(made.tail, made.part_bytes());
    ASSERT_TRUE(table.ok()) << table.status();
    EXPECT_EQ(table->state, made.table.state);
    EXPECT_EQ(table->checks, made.table.checks);
    ASSERT_EQ(table->ranges.size(), made.table.ranges.size());
    for (size_t i = 0; i < table->ranges.size(); ++i) {
      EXPECT_EQ(table->ranges[i].range, made.table.ranges[i].range);
      EXPECT_EQ(table->ranges[i].offset, made.table.ranges[i].offset);
    }
  }
}

TEST(TierPartTest, EveryChangedByteIsFound) {
  Made made = Make(5, 9);
  for (size_t i = 0; i < made.tail.size(); ++i) {
    made.tail[i] = static_cast<char>(made.tail[i] ^ 0x10);
    EXPECT_FALSE(ParseTierTail(made.tail, made.part_bytes()).ok()) << i;
    made.tail[i] = static_cast<char>(made.tail[i] ^ 0x10);
  }
}

TEST(TierPartTest, WhatIsCutOffIsRefused) {
  const Made made = Make(6, 9);
  for (size_t keep = 0; keep < made.tail.size(); ++keep) {
    const absl::string_view cut = absl::string_view(made.tail).substr(0, keep);
    EXPECT_FALSE(ParseTierTail(cut, made.data_bytes + keep).ok()) << keep;
    const absl::string_view end =
        absl::string_view(made.tail).substr(made.tail.size() - keep);
    EXPECT_FALSE(ParseTierTail(end, made.part_bytes()).ok()) << keep;
  }
  EXPECT_FALSE(ParseTierTail(made.tail, made.part_bytes() + kTierPage).ok());
  EXPECT_FALSE(ParseTierTail(made.tail, made.part_bytes() - 1).ok());
}

TEST(TierPartTest, ChecksumsTooFewOrTooManyAreRefused) {
  Made made = Make(7, 9);
  made.table.checks.push_back(1);
  for (int more = 1; more >= -1; --more) {
    made.tail = SerializeTierTail(made.table, made.data_bytes);
    EXPECT_EQ(ParseTierTail(made.tail, made.part_bytes()).ok(), more == 0)
        << more;
    made.table.checks.pop_back();
  }
}

// With a checksum that fits, as an attacker would give it.
TEST(TierPartTest, TablesThatMakeNoSenseAreRefused) {
  const Made made = Make(7, 3);
  const size_t footer = made.tail.size() - kTierFooterBytes;
  const uint64_t values[] = {0,
                             1,
                             4095,
                             4096,
                             made.data_bytes,
                             made.part_bytes(),
                             uint64_t{1} << 32,
                             uint64_t{1} << 63,
                             ~uint64_t{0}};
  // The entries, beginnings, offsets and lengths, then the footer's numbers.
  std::vector<size_t> places;
  for (size_t at = 0; at < 3 * 32; at += 8) places.push_back(at);
  for (size_t at = 0; at < 24; at += 8) places.push_back(footer + at);
  for (const size_t at : places) {
    for (const uint64_t value : values) {
      std::string tail = made.tail;
      SetWord(tail, at, value);
      const auto table = ParseTierTail(tail, made.part_bytes());
      if (!table.ok()) continue;
      uint64_t end = 0;
      for (const auto& [range, offset] : table->ranges) {
        EXPECT_GE(offset, end);
        EXPECT_GT(range.length, 0u);
        EXPECT_EQ(range.from % kTierPage, 0u);
        EXPECT_GT(range.end(), range.from);
        EXPECT_LE(range.length, made.data_bytes - offset);
        end = offset + range.length;
      }
    }
  }
  std::string twice = made.tail;
  SetWord(twice, 32 + 8, made.table.ranges[0].range.from);
  EXPECT_FALSE(ParseTierTail(twice, made.part_bytes()).ok());
}

// Parts of version 1 held whole files: nothing of them is read.
TEST(TierPartTest, AnotherVersionIsRefused) {
  Made made = Make(8, 3);
  made.tail[made.tail.size() - kTierFooterBytes + 40] = 1;
  Seal(made.tail);
  const auto table = ParseTierTail(made.tail, made.part_bytes());
  EXPECT_EQ(table.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(table.status().message().find("version 1"),
            absl::string_view::npos);
}

TEST(TierPartTest, OnlyExactNamesAreOurs) {
  for (const uint64_t id : {uint64_t{0}, uint64_t{255}, ~uint64_t{0}}) {
    const auto finished = ParseTierName(TierPartName(id));
    ASSERT_TRUE(finished.has_value());
    EXPECT_EQ(finished->id, id);
    EXPECT_TRUE(finished->finished);
    const auto unfinished = ParseTierName(TierUnfinishedName(id));
    ASSERT_TRUE(unfinished.has_value());
    EXPECT_FALSE(unfinished->finished);
  }
  for (const char* name :
       {"", "part-", ".tier", "part-ff.tier", "part-00000000000000FF.tier",
        "part-0x000000000000ff.tier", "part-00000000000000ff.tier.bak",
        "part-00000000000000ff", "part-00000000000000ff.tmp",
        "xpart-00000000000000ff.tier", "part-+0000000000000ff.tier",
        "part- 0000000000000ff.tier"}) {
    EXPECT_FALSE(ParseTierName(name).has_value()) << name;
  }
}

}  // namespace
}  // namespace shufflefs
