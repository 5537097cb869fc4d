// SPDX-License-Identifier: Apache-2.0
#include "core/records/order/block_pass.h"

#include <algorithm>
#include <map>
#include <vector>

#include "core/formats/record_table.h"
#include "core/random/random.h"
#include "gtest/gtest.h"
#include "tests/core/records/containers/record_fixture.h"

namespace shufflefs {
namespace {

using testing_support::PlainTable;
using testing_support::RandomTable;

// Each file gives each mini-epoch floor or ceil of its blocks over the number
// of mini-epochs.
TEST(BlockPassTest, MiniEpochsHaveTheirShareOfEachFile) {
  Rng rng{RandomKey(7)};
  for (int round = 0; round < 40; ++round) {
    const PlainTable table = RandomTable(3000, 900, rng);
    BlockPass::Input input;
    input.table = &table;
    input.block_bytes = 4096;
    input.mini_epochs = 1 + rng.Bounded(20);
    input.key = RandomKey(rng.Next());
    const std::vector<uint64_t> strata = {0, 100 + rng.Bounded(900), 1500, 1500,
                                          2990};
    input.strata = strata;
    const BlockPass pass(input);
    ASSERT_EQ(pass.mini_epochs(), input.mini_epochs);
    std::map<size_t, std::map<uint64_t, uint64_t>> blocks;  // stratum, mini
    uint64_t records = 0;
    for (uint64_t m = 0; m < pass.mini_epochs(); ++m) {
      uint64_t own = 0;
      for (const uint32_t block : pass.blocks(m)) {
        const PartRecords::Run run = pass.RunOf(block);
        own += run.size();
        const auto behind =
            std::upper_bound(strata.begin(), strata.end(), run.first);
        ++blocks[static_cast<size_t>(behind - strata.begin())][m];
      }
      EXPECT_EQ(pass.records(m), own);
      EXPECT_TRUE(std::is_sorted(pass.blocks(m).begin(), pass.blocks(m).end()));
      records += own;
    }
    EXPECT_EQ(records, 3000u);
    for (const auto& [stratum, by_mini] : blocks) {
      uint64_t all = 0;
      for (const auto& [mini, count] : by_mini) all += count;
      for (uint64_t m = 0; m < pass.mini_epochs(); ++m) {
        const auto found = by_mini.find(m);
        const uint64_t count = found == by_mini.end() ? 0 : found->second;
        EXPECT_GE(count, all / input.mini_epochs) << stratum;
        EXPECT_LE(count, all / input.mini_epochs + 1) << stratum;
      }
    }
  }
}

// A disk reads on inside a run, and a mini-epoch is of several places.
TEST(BlockPassTest, ManyBlocksAreDrawnByRuns) {
  constexpr uint64_t kBlock = uint64_t{1} << 20;
  for (const uint64_t blocks_of_mini : {7, 20, 25, 100, 1000}) {
    constexpr uint64_t kMinis = 7;
    const FixedTable table(0, kBlock / 4, 4 * kMinis * blocks_of_mini + 3);
    BlockPass::Input input;
    input.table = &table;
    input.block_bytes = kBlock;
    input.mini_epochs = kMinis;
    input.key = RandomKey(blocks_of_mini);
    const BlockPass pass(input);
    const uint64_t length = std::clamp<uint64_t>(blocks_of_mini / 8, 1, 4);
    for (uint64_t m = 0; m < kMinis; ++m) {
      uint64_t places = 1;
      for (size_t i = 1; i < pass.blocks(m).size(); ++i) {
        if (pass.blocks(m)[i] != pass.blocks(m)[i - 1] + 1) ++places;
      }
      EXPECT_GE(places, std::min<uint64_t>(blocks_of_mini, 8) / 2);
      // All but a few single blocks lie in runs.
      EXPECT_LE(places, blocks_of_mini / length + 2 * length);
    }
  }
}

// Bits that other versions have to give, of runs of two blocks and of single
// ones.
TEST(BlockPassTest, TheDrawIsThatOfItsDefinition) {
  const FixedTable table(0, 1 << 18, 4 * 35);
  BlockPass::Input input;
  input.table = &table;
  input.block_bytes = 1 << 20;
  input.mini_epochs = 2;
  input.key = RandomKey(1);
  const BlockPass pass(input);
  EXPECT_EQ(std::vector<uint32_t>(pass.blocks(0).begin(), pass.blocks(0).end()),
            (std::vector<uint32_t>{4, 5, 8, 9, 12, 13, 16, 17, 20, 21, 22, 23,
                                   26, 27, 30, 31, 34}));
}

TEST(BlockPassTest, OfFewBlocksThereAreFewMiniEpochs) {
  Rng rng{RandomKey(8)};
  BlockPass::Input input;
  input.block_bytes = 4096;
  input.mini_epochs = 10;
  const PlainTable one = RandomTable(3, 100, rng);
  input.table = &one;
  EXPECT_EQ(BlockPass(input).mini_epochs(), 1u);
  // Records of several blocks: those in which none begins do not count.
  const PlainTable seven(
      {0, 30000, 60000, 90000, 120000, 150000, 180000, 210000});
  input.table = &seven;
  const BlockPass pass(input);
  EXPECT_EQ(pass.mini_epochs(), 3u);
  for (uint64_t m = 0; m < 3; ++m) EXPECT_GE(pass.records(m), 2u);
}

}  // namespace
}  // namespace shufflefs
