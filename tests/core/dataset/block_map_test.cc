// SPDX-License-Identifier: Apache-2.0
#include "core/dataset/block_map.h"

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "core/random/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

BlockMap MustBuild(const std::vector<uint64_t>& addresses,
                   uint64_t block_bytes) {
  auto map = BlockMap::Build(addresses, block_bytes);
  EXPECT_TRUE(map.ok()) << map.status();
  return *std::move(map);
}

std::vector<uint64_t> SamplesByPlace(const BlockMap& map) {
  std::vector<uint64_t> out;
  for (uint64_t p = 0; p < map.sample_count(); ++p) {
    out.push_back(map.SampleAtPlace(p));
  }
  return out;
}

std::vector<uint64_t> Sizes(const BlockMap& map) {
  std::vector<uint64_t> out;
  for (uint64_t b = 0; b < map.block_count(); ++b) out.push_back(map.size(b));
  return out;
}

TEST(BlockMapTest, SamplesThatStartInOnePageAreABlock) {
  const BlockMap map = MustBuild({8191, 0, 4096, 4095, 20000, 4097}, 4096);
  EXPECT_THAT(SamplesByPlace(map), ElementsAre(1, 3, 2, 5, 0, 4));
  EXPECT_THAT(Sizes(map), ElementsAre(2, 3, 1));
  EXPECT_EQ(map.first(1), 2u);
  EXPECT_EQ(map.PlaceOf(0), 4u);
  EXPECT_EQ(map.BlockOfPlace(4), 1u);
  EXPECT_EQ(map.BlockOfPlace(5), 2u);
}

TEST(BlockMapTest, EqualAddressesKeepTheOrderOfSamples) {
  const BlockMap map = MustBuild({7, 7, 3, 7}, 4096);
  EXPECT_THAT(SamplesByPlace(map), ElementsAre(2, 0, 1, 3));
  EXPECT_THAT(Sizes(map), ElementsAre(4));
}

TEST(BlockMapTest, NoSamplesNoBlocks) {
  const BlockMap map = MustBuild({}, 4096);
  EXPECT_EQ(map.sample_count(), 0u);
  EXPECT_EQ(map.block_count(), 0u);
}

TEST(BlockMapTest, TheHighestAddressesWork) {
  const BlockMap map = MustBuild({~uint64_t{0}, 0, ~uint64_t{0} - 4096}, 4096);
  EXPECT_THAT(SamplesByPlace(map), ElementsAre(1, 2, 0));
  EXPECT_THAT(Sizes(map), ElementsAre(1, 1, 1));
}

TEST(BlockMapTest, RefusesBlocksOfZeroBytes) {
  const auto map = BlockMap::Build({1, 2}, 0);
  EXPECT_EQ(map.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(map.status().message()), HasSubstr("0 bytes"));
}

TEST(BlockMapTest, LookupsAgreeOnRandomAddresses) {
  const uint64_t seed = 9;
  Rng rng((RandomKey(seed)));
  for (uint64_t n : {1, 2, 100, 5000}) {
    for (uint64_t span : {1, 4096, 1 << 20, 1 << 30}) {
      std::vector<uint64_t> addresses(n);
      for (uint64_t& a : addresses) a = rng.Bounded(span);
      const BlockMap map = MustBuild(addresses, 4096);
      uint64_t places = 0;
      for (uint64_t b = 0; b < map.block_count(); ++b) {
        ASSERT_EQ(map.first(b), places) << "seed " << seed;
        ASSERT_GT(map.size(b), 0u);
        const uint64_t page = addresses[map.SampleAtPlace(places)] / 4096;
        for (uint64_t i = 0; i < map.size(b); ++i, ++places) {
          ASSERT_EQ(map.BlockOfPlace(places), b);
          ASSERT_EQ(map.PlaceOf(map.SampleAtPlace(places)), places);
          ASSERT_EQ(addresses[map.SampleAtPlace(places)] / 4096, page);
        }
        if (places < n) {
          ASSERT_GT(addresses[map.SampleAtPlace(places)] / 4096, page);
        }
      }
      ASSERT_EQ(places, n);
    }
  }
}

TEST(BlockMapTest, EightBytesASampleAndFourABlock) {
  std::vector<uint64_t> addresses(10000);
  for (uint64_t i = 0; i < addresses.size(); ++i) addresses[i] = i * 1024;
  const BlockMap map = MustBuild(addresses, 4096);
  EXPECT_EQ(map.block_count(), 2500u);
  EXPECT_LE(map.memory_bytes(), 8 * 10000u + 4 * 2501u);
}

}  // namespace
}  // namespace shufflefs
