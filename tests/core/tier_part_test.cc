// SPDX-License-Identifier: Apache-2.0
// The bytes behind the files of a part: what is written comes back, and what
// was damaged, cut off or made up is refused.
#include "core/tiers/tier_part.h"

#include <xxhash.h>

#include <cstring>

#include "core/random.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

struct Made {
  TierTable table;
  uint64_t data_bytes = 0;
  std::string tail;
  uint64_t part_bytes() const { return data_bytes + tail.size(); }
};

Made Make(uint64_t seed, int files) {
  Rng rng{RandomKey(seed)};
  Made made;
  made.table.fingerprint = rng.Next();
  for (int i = 0; i < files; ++i) {
    const uint64_t length = 1 + rng.Bounded(3 * kTierCheckBytes);
    made.table.files.push_back(
        {EntryId(static_cast<uint32_t>(i * 7 + 3)), made.data_bytes, length});
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
  for (const int files : {1, 2, 17, 300}) {
    const Made made = Make(files, files);
    ASSERT_EQ(made.tail.size(), TierTailBytes(files, made.table.checks.size()));
    EXPECT_EQ(made.tail.size() % kTierPage, 0u);
    const auto at = TierTailAt(absl::string_view(made.tail).substr(
                                   made.tail.size() - kTierFooterBytes),
                               made.part_bytes());
    ASSERT_TRUE(at.ok()) << at.status();
    EXPECT_EQ(*at, made.data_bytes);
    const auto table = ParseTierTail(made.tail, made.part_bytes());
    ASSERT_TRUE(table.ok()) << table.status();
    EXPECT_EQ(table->fingerprint, made.table.fingerprint);
    EXPECT_EQ(table->checks, made.table.checks);
    ASSERT_EQ(table->files.size(), made.table.files.size());
    for (size_t i = 0; i < table->files.size(); ++i) {
      EXPECT_EQ(table->files[i].entry, made.table.files[i].entry);
      EXPECT_EQ(table->files[i].offset, made.table.files[i].offset);
      EXPECT_EQ(table->files[i].length, made.table.files[i].length);
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
  // The entries, offsets and lengths, then the footer's numbers.
  std::vector<size_t> places;
  for (size_t at = 0; at < 3 * 24; at += 8) places.push_back(at);
  for (size_t at = 0; at < 24; at += 8) places.push_back(footer + at);
  for (const size_t at : places) {
    for (const uint64_t value : values) {
      std::string tail = made.tail;
      SetWord(tail, at, value);
      const auto table = ParseTierTail(tail, made.part_bytes());
      if (!table.ok()) continue;
      uint64_t end = 0;
      for (const TierTable::File& file : table->files) {
        EXPECT_GE(file.offset, end);
        EXPECT_GT(file.length, 0u);
        EXPECT_LE(file.length, made.data_bytes - file.offset);
        end = file.offset + file.length;
      }
    }
  }
  std::string twice = made.tail;
  SetWord(twice, 24, made.table.files[0].entry.value());
  EXPECT_FALSE(ParseTierTail(twice, made.part_bytes()).ok());
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
