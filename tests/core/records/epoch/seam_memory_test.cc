// SPDX-License-Identifier: Apache-2.0
#include "core/records/epoch/seam_memory.h"

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/records/content/record_shares.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/pool/test_memory.h"
#include "tests/core/records/content/record_producer_fixture.h"

namespace shufflefs {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using testing_support::TempTree;

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kKernelRead = uint64_t{1} << 17;

absl::optional<SeamMemory> Of(const RecordTable& table, uint64_t block,
                              uint64_t guarantee) {
  return SeamMemoryOf(table, {block, 1, "lirs.page"}, guarantee);
}

// How many times the bytes of the file a pool reads. Its device is slow:
// nothing that was fetched ahead comes before somebody waits for it.
double TimesRead(uint64_t memory, const std::vector<uint64_t>& sizes,
                 uint64_t block) {
  testing_support::TestPool test(memory);
  testing_support::ShapeOptions shape;
  shape.sizes = sizes;
  const testing_support::TestFile file(*test.pool, 1, shape,
                                       *testing_support::Blocks(block, 1));
  for (uint64_t at = 0; at < file.bytes.size(); at += kKernelRead) {
    const auto read =
        testing_support::ReadFrom(*test.pool, file, at, kKernelRead);
    while (read->answers == 0 && test.asked->Come()) {
    }
    testing_support::ExpectBytes(*read, file, at, kKernelRead);
  }
  test.asked->ComeAll();
  uint64_t pages = 0;
  for (const auto& [page, times] : test.asked->pages()) pages += times;
  return static_cast<double>(pages * kReadAlignment) /
         static_cast<double>(file.bytes.size());
}

testing_support::PlainTable TableOf(const std::vector<uint64_t>& sizes) {
  std::vector<uint64_t> begins = {0};
  for (const uint64_t size : sizes) begins.push_back(begins.back() + size);
  return testing_support::PlainTable(std::move(begins));
}

// A file of 1 GiB and 320 MiB of memory, as docs/benchmarks.md has it, where
// 1.026 times the bytes were read.
TEST(SeamMemoryTest, ForEqualRecordsTheRuleIsAQuarterOfARecordABlock) {
  const FixedTable rows(0, 330, 1024 * kMiB / 330);
  const uint64_t guarantee = GuaranteeOf(320 * kMiB, 1);
  const auto seams = Of(rows, 4096, guarantee);
  ASSERT_TRUE(seams);
  EXPECT_EQ(seams->record_bytes, 330u);
  EXPECT_NEAR(seams->kept_share, 330.0 / (4 * 4096), 0.0005);
  // Cells that are not full take a quarter more.
  EXPECT_NEAR(static_cast<double>(seams->needed_bytes),
              1.25 * seams->kept_share * 1024 * kMiB, kMiB);
  EXPECT_NEAR(seams->times_read, 1.026, 0.007);
  EXPECT_FALSE(seams->reads_again());
  EXPECT_EQ(SeamWarning(*seams, 0), "");
  SeamMemory named = *seams;
  named.path = "rows.bin";
  EXPECT_EQ(SeamLine(named),
            "records of 330 bytes cross blocks of 4KiB: at most 2.0 % of "
            "rows.bin is kept (R / 4B for records of R and blocks of B bytes), "
            "which takes 25.9 MiB of memory; there is room for 30.5 MiB, 10 % "
            "of what is guaranteed: about 1.02 times its bytes are read");
  // Hardly anything would be read again, there are no blocks, or the file is
  // read as a whole.
  EXPECT_FALSE(Of(rows, 256 << 10, guarantee));
  EXPECT_FALSE(Of(rows, 0, guarantee));
  EXPECT_FALSE(Of(FixedTable(0, 330, 100000), 4096, guarantee));
  EXPECT_FALSE(Of(FixedTable(0, 512, 2 * kMiB), 4096, guarantee))
      << "records that fill pages cross none";
}

TEST(SeamMemoryTest, ItSaysHowMuchMemoryAndWhichBlocksSuffice) {
  const FixedTable rows(0, 330, 1024 * kMiB / 330);
  const auto seams = Of(rows, 4096, 60 * kMiB);
  ASSERT_TRUE(seams);
  EXPECT_GT(seams->needed_bytes, 3 * seams->room_bytes);
  EXPECT_GT(seams->times_read, 1.6);
  const auto enough = Of(rows, 4096, seams->enough_guarantee);
  EXPECT_FALSE(enough->reads_again());
  const auto less = Of(rows, 4096, seams->enough_guarantee - 2 * kMiB);
  EXPECT_GT(less->needed_bytes, less->room_bytes);
  const auto larger = Of(rows, seams->enough_block, 60 * kMiB);
  EXPECT_TRUE(!larger || !larger->reads_again());
  EXPECT_TRUE(Of(rows, seams->enough_block / 2, 60 * kMiB)->reads_again());
  EXPECT_THAT(SeamWarning(*seams, 300 * kMiB),
              StartsWith("records cross blocks of 4KiB, so about "));
  EXPECT_THAT(
      SeamWarning(*seams, 300 * kMiB),
      HasSubstr(absl::StrCat(": raise memory to 300MiB, or lirs.page to ",
                             seams->enough_block >> 10, "KiB")));
}

// Records of all sizes, with enough memory for their pieces and with too
// little.
TEST(SeamMemoryTest, ItEstimatesWhatAPoolReads) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng{RandomKey(seed)};
  for (const auto& [block, most, count] :
       {std::tuple(uint64_t{4096}, 660, 240000),
        std::tuple(uint64_t{16384}, 14000, 9000),
        std::tuple(uint64_t{4096}, 3000, 40000)}) {
    const std::vector<uint64_t> sizes =
        testing_support::RandomSizes(count, most, rng);
    for (const uint64_t memory : {14 * kMiB, 24 * kMiB, 72 * kMiB}) {
      const auto seams = Of(TableOf(sizes), block, memory);
      ASSERT_TRUE(seams) << block << " " << memory;
      EXPECT_NEAR(TimesRead(memory, sizes, block), seams->times_read, 0.06)
          << block << " " << memory << " " << SeamLine(*seams);
    }
  }
}

// Nobody finds the pieces of a record that fills whole blocks.
TEST(SeamMemoryTest, NoMemoryHelpsRecordsOfManyBlocks) {
  const std::vector<uint64_t> sizes(1000, 30011);
  const auto seams = Of(TableOf(sizes), 4096, RecordProducer::kLeastMemory);
  ASSERT_TRUE(seams);
  EXPECT_NEAR(TimesRead(RecordProducer::kLeastMemory, sizes, 4096),
              seams->times_read, 0.05);
  EXPECT_TRUE(seams->reads_again());
  EXPECT_EQ(seams->enough_guarantee, 0u);
  EXPECT_THAT(SeamLine(*seams), Not(HasSubstr("R / 4B")));
  EXPECT_THAT(SeamWarning(*seams, 0), HasSubstr(": raise lirs.page to "));
}

TEST(SeamMemoryTest, OfSeveralContainersItIsTheWorst) {
  TempTree tree;
  std::string rows;
  for (int i = 0; i < 20000; ++i) rows += std::string(329, 'x') + "\n";
  tree.File("few.svm", rows.substr(0, 3300000));
  tree.File("rows.svm", rows);
  ViewConfig config;
  config.record.as = "*.svm:lines";
  const auto catalogue = std::make_shared<const Catalogue>(tree.Scanned());
  ContainerSet containers(*Dataset::Make(catalogue, config, ""),
                          *RecordRules::Parse(config.record));
  const RecordBlocks blocks{4096, 1, "lirs.page"};
  const uint64_t least = RecordProducer::kLeastMemory;
  EXPECT_FALSE(SeamMemoryOf(containers, *catalogue, blocks, least));
  containers.Index(tree.Source(), ContainerSet::IndexOptions());
  const auto seams = SeamMemoryOf(containers, *catalogue, blocks, least);
  ASSERT_TRUE(seams);
  EXPECT_EQ(seams->path, "rows.svm");
  EXPECT_EQ(seams->record_bytes, 330u);
}

TEST(SeamMemoryTest, TheBudgetIsWhatAPoolDivides) {
  const uint64_t guarantee = 100 * kMiB;
  const RecordBudget budget = RecordBudget::Of(guarantee);
  auto shares =
      RecordShares::Open(testing_support::TestMemory(guarantee, nullptr), 1);
  ASSERT_TRUE(shares.ok()) << shares.status();
  EXPECT_EQ(shares->parts->guarantee(), budget.parts);
  EXPECT_EQ(shares->index->guarantee(), budget.index);
  ASSERT_EQ(shares->straddling.size(), 2u);
  EXPECT_EQ(
      shares->straddling[0]->guarantee() + shares->straddling[1]->guarantee(),
      budget.straddling_bytes());
}

}  // namespace
}  // namespace shufflefs
