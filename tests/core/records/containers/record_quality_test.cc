// SPDX-License-Identifier: Apache-2.0
#include "core/records/containers/record_quality.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/quality/shuffle_quality.h"
#include "core/records/order/record_order.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policies/registry.h"
#include "tests/core/base/temp_tree.h"

namespace shufflefs {
namespace {

using ::testing::StartsWith;
using testing_support::TempTree;

std::unique_ptr<const Policy> Reimu(uint64_t block, uint64_t window) {
  PolicyOptions options;
  options.Set("reimu.block", block);
  options.Set("reimu.window", window);
  auto policy = MakePolicy("reimu", options);
  EXPECT_TRUE(policy.ok()) << policy.status();
  return *std::move(policy);
}

// What the formula says is what an order is measured to be.
TEST(RecordQualityTest, TheFormulaIsWhatIsMeasured) {
  constexpr uint64_t kRecords = 60000;
  const FixedTable table(0, 100, kRecords);
  for (const uint64_t window : {1, 2, 4, 12, 64, 2000}) {
    const auto policy = Reimu(40960, window);
    RecordOrderOptions options;
    const auto order = MakeRecordOrder(*policy, table, options);
    std::vector<uint64_t> records;
    for (uint64_t part = 0; part < order->part_count(); ++part) {
      const std::vector<uint64_t> next = order->Records(part);
      records.insert(records.end(), next.begin(), next.end());
    }
    const SequenceOrder sequence(std::move(records), kRecords);
    QualityInput input;
    input.order = &sequence;
    input.source_size = kRecords;
    const QualityReport report = MeasureShuffleQuality(input);
    EXPECT_NEAR(BlockQuality({40960, window}, kRecords, 100 * kRecords, 256),
                report.batch_distance.value / report.batch_distance.uniform,
                window == 1 ? 0.3 : 0.08)
        << window;
  }
}

TEST(RecordQualityTest, MoreBlocksMixBetterAndOneWindowIsAFullShuffle) {
  double last = -1;
  for (const uint64_t window : {1, 2, 4, 10, 50}) {
    const double now = BlockQuality({4096, window}, 100000, 10'000'000, 8);
    EXPECT_GT(now, last);
    last = now;
  }
  EXPECT_LT(last, 1);
  EXPECT_EQ(BlockQuality({1 << 20, 64}, 1000, 1 << 26, 256), 1);
  EXPECT_EQ(BlockQuality({1 << 20, 1}, 1000, 1000, 256), 1);
}

TEST(RecordQualityTest, TheLineIsOfTheWorstContainer) {
  TempTree tree;
  std::string text;
  for (int i = 0; i < 20000; ++i) absl::StrAppend(&text, i + 10000000, "\n");
  tree.File("large.svm", text);
  tree.File("small.svm", "1 1:1\n2 2:2\n");
  ViewConfig config;
  config.record.as = "*.svm:lines";
  auto made = Dataset::Make(std::make_shared<const Catalogue>(tree.Scanned()),
                            config, "");
  ASSERT_TRUE(made.ok()) << made.status();
  const std::shared_ptr<const Dataset> dataset = *std::move(made);
  auto rules = RecordRules::Parse(config.record);
  ASSERT_TRUE(rules.ok()) << rules.status();
  ContainerSet containers(dataset, *std::move(rules));
  const auto line = [&](const Policy& policy) {
    return RecordQualityLine(*dataset, containers, policy, Seed(0), Epoch(0));
  };
  EXPECT_EQ(line(*Reimu(4096, 4)), "");  // nothing is indexed yet
  containers.Index(tree.Source(), ContainerSet::IndexOptions());
  EXPECT_EQ(line(*Reimu(4096, 4)),
            "C: a batch takes its records from 4 of 44 blocks of 4096 bytes of "
            "large.svm");
  EXPECT_EQ(line(*Reimu(4096, 1)),
            "F: a batch takes its records from 1 of 44 blocks of 4096 bytes of "
            "large.svm; more blocks per window mix better");
  EXPECT_EQ(line(*Reimu(1 << 20, 64)),
            "A: all records of a file are in one window");
  PolicyOptions options;
  EXPECT_THAT(line(**MakePolicy("lirs", options)),
              StartsWith("A: of the records of large.svm, "));
  options.Set("window.samples", 10);
  EXPECT_THAT(line(**MakePolicy("window", options)),
              StartsWith("F: of the records of large.svm, "));
}

}  // namespace
}  // namespace shufflefs
