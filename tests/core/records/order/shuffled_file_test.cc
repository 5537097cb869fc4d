// SPDX-License-Identifier: Apache-2.0
#include "core/records/order/shuffled_file.h"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "core/records/order/record_order.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/records/containers/record_fixture.h"

namespace shufflefs {
namespace {

using ::testing::UnorderedElementsAreArray;
using testing_support::Apply;
using testing_support::Container;
using testing_support::MakeContainer;
using testing_support::MakeLines;
using testing_support::PolicyOf;
using testing_support::RandomSizes;

std::vector<std::pair<const char*, PolicyOptions>> NamedPolicies() {
  PolicyOptions page;
  page.Set("lirs.unit", "page");
  PolicyOptions pages = page;
  pages.Set("lirs.batch", 3);
  PolicyOptions reimu;
  reimu.Set("reimu.block", 4096);
  reimu.Set("reimu.window", 5);
  PolicyOptions window;
  window.Set("window.samples", 20);
  return {{"lirs", PolicyOptions()},
          {"lirs", page},
          {"lirs", pages},
          {"reimu", reimu},
          {"window", window}};
}

RecordOrderOptions OptionsOf(uint64_t seed, uint64_t epoch) {
  RecordOrderOptions options;
  options.key = 77;
  options.seed = Seed(seed);
  options.epoch = Epoch(epoch);
  return options;
}

ShuffledFile Shuffle(const Container& container, const Policy& policy,
                     uint64_t seed, uint64_t epoch) {
  auto order =
      MakeRecordOrder(policy, *container.shape.records, OptionsOf(seed, epoch));
  return ShuffledFile(container.shape, std::move(order));
}

// The whole file, part by part.
std::string Whole(const ShuffledFile& file, const Container& container) {
  std::string all;
  for (uint64_t part = 0; part < file.part_count(); ++part) {
    EXPECT_EQ(file.part_begin(part), all.size()) << part;
    all += Apply(file.Plan(part), container.content);
  }
  EXPECT_EQ(file.part_begin(file.part_count()), all.size());
  return all;
}

std::vector<std::string> RecordsOf(const Container& container) {
  const RecordTable& table = *container.shape.records;
  std::vector<std::string> records;
  for (uint64_t r = 0; r < table.count(); ++r) {
    records.push_back(container.content.substr(table.begin(r), table.bytes(r)));
  }
  return records;
}

// Cuts what was shuffled at the boundaries that the order says.
std::vector<std::string> Cut(const std::string& shuffled,
                             const RecordOrder& order,
                             const RecordTable& table) {
  std::vector<std::string> records;
  uint64_t at = table.begin(0);
  for (uint64_t part = 0; part < order.part_count(); ++part) {
    for (const uint64_t record : order.Records(part)) {
      records.push_back(shuffled.substr(at, table.bytes(record)));
      at += table.bytes(record);
    }
  }
  return records;
}

TEST(ShuffledFileTest, EveryPolicyKeepsEveryRecordOfAnySizes) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng{RandomKey(seed)};
  for (const auto& [name, options] : NamedPolicies()) {
    const auto policy = PolicyOf(name, options);
    for (const uint64_t most : {1u, 30u, 3000u, 9000u}) {
      const Container container =
          MakeContainer(RandomSizes(1 + rng.Bounded(700), most, rng),
                        rng.Bounded(5000), rng.Bounded(5000), rng);
      const RecordTable& table = *container.shape.records;
      const ShuffledFile file = Shuffle(container, *policy, 5, 2);
      const std::string all = Whole(file, container);
      ASSERT_EQ(all.size(), container.content.size()) << name << most;
      const uint64_t head = table.begin(0);
      const uint64_t tail = table.begin(table.count());
      EXPECT_EQ(all.substr(0, head), container.content.substr(0, head));
      EXPECT_EQ(all.substr(tail), container.content.substr(tail));
      const auto order = MakeRecordOrder(*policy, table, OptionsOf(5, 2));
      EXPECT_THAT(Cut(all, *order, table),
                  UnorderedElementsAreArray(RecordsOf(container)))
          << name << " " << most;
    }
  }
}

TEST(ShuffledFileTest, EpochsDifferAndTheSameSeedRepeats) {
  Rng rng{RandomKey(1)};
  const Container container =
      MakeContainer(RandomSizes(3000, 300, rng), 10, 0, rng);
  for (const auto& [name, options] : NamedPolicies()) {
    const auto policy = PolicyOf(name, options);
    const auto whole = [&](uint64_t seed, uint64_t epoch) {
      return Whole(Shuffle(container, *policy, seed, epoch), container);
    };
    EXPECT_EQ(whole(1, 4), whole(1, 4)) << name;
    EXPECT_NE(whole(1, 4), whole(1, 5)) << name;
    EXPECT_NE(whole(1, 4), whole(2, 4)) << name;
    EXPECT_NE(whole(1, 4), container.content) << name;
  }
}

TEST(ShuffledFileTest, AnyRangeIsThatOfTheWholeWhateverWasAskedBefore) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng{RandomKey(seed)};
  for (const auto& [name, options] : NamedPolicies()) {
    const Container container =
        MakeContainer(RandomSizes(4000, 2500, rng), 2000000, 1500000, rng);
    const auto policy = PolicyOf(name, options);
    const std::string all = Whole(Shuffle(container, *policy, 3, 3), container);
    const ShuffledFile file = Shuffle(container, *policy, 3, 3);
    // What is in front of the records and behind them is of several parts.
    const RecordTable& table = *container.shape.records;
    const uint64_t tail = table.begin(table.count());
    ASSERT_EQ(
        all.compare(0, table.begin(0), container.content, 0, table.begin(0)),
        0);
    ASSERT_EQ(all.compare(tail, all.size(), container.content, tail,
                          container.content.size()),
              0);
    for (int i = 0; i < 50; ++i) {
      const uint64_t offset = rng.Bounded(all.size());
      const uint64_t part = file.PartAt(offset);
      const uint64_t begin = file.part_begin(part);
      ASSERT_LE(begin, offset);
      ASSERT_GT(file.part_begin(part + 1), offset);
      const PartPlan plan = file.Plan(part);
      const uint64_t from = rng.Bounded(plan.bytes);
      const uint64_t to = from + 1 + rng.Bounded(plan.bytes - from);
      ASSERT_EQ(Apply(Clip(plan, from, to), container.content),
                all.substr(begin + from, to - from))
          << name;
    }
  }
}

TEST(ShuffledFileTest, ACutHasNoLineEndsButItsOwn) {
  PartPlan plan;
  plan.bytes = 10;
  plan.newlines = {1, 2, 6, 7};
  EXPECT_THAT(Clip(plan, 2, 7).newlines, testing::ElementsAre(0, 4));
}

TEST(ShuffledFileTest, TheLineWithoutAnEndGetsTheOneOfWhoeverComesLast) {
  for (const auto& [name, options] : NamedPolicies()) {
    const auto policy = PolicyOf(name, options);
    for (const size_t count : {1u, 2u, 40u, 900u}) {
      std::vector<std::string> lines;
      for (size_t i = 0; i < count; ++i) {
        lines.push_back("line " + std::to_string(i * i));
      }
      const Container container = MakeLines(lines, 30);
      for (uint64_t epoch = 0; epoch < 5; ++epoch) {
        const std::string all =
            Whole(Shuffle(container, *policy, 9, epoch), container);
        ASSERT_EQ(all.size(), container.content.size());
        const std::vector<std::string> shown =
            absl::StrSplit(all.substr(30), '\n');
        EXPECT_THAT(shown, UnorderedElementsAreArray(lines)) << name << count;
      }
    }
  }
}

// The lent CR and LF may be on both sides of the border of a block.
TEST(ShuffledFileTest, OneLineWithoutAnEndIsTheSourceWhereverBlocksEnd) {
  PolicyOptions page;
  page.Set("lirs.unit", "page");
  page.Set("lirs.page", 4096);
  PolicyOptions block;
  block.Set("reimu.block", 4096);
  for (const auto& policy :
       {PolicyOf("lirs", page), PolicyOf("reimu", block)}) {
    for (uint64_t size = 4092; size < 4098; ++size) {
      Container container;
      container.content = "h\r\n" + std::string(size - 3, 'x');
      container.shape.file_bytes = size;
      container.shape.records = std::make_shared<testing_support::PlainTable>(
          std::vector<uint64_t>{3, size + 2});
      container.shape.lacks_newline = true;
      container.shape.line_end = LineEnd::kCrLf;
      RecordOrderOptions options = OptionsOf(9, 1);
      options.of_a_file = true;
      const ShuffledFile file(
          container.shape,
          MakeRecordOrder(*policy, *container.shape.records, options));
      std::string all;
      for (uint64_t part = 0; part < file.part_count(); ++part) {
        const PartPlan plan = file.PlanSeams(
            part, [](uint64_t, uint64_t) { return absl::nullopt; });
        for (const PartCopy& copy : plan.copies) {
          ASSERT_LE(copy.from, size);
          ASSERT_LE(copy.bytes, size - copy.from);
        }
        all += Apply(plan, container.content);
      }
      EXPECT_TRUE(all == container.content) << size;
    }
  }
}

TEST(ShuffledFileTest, WithoutRecordsItIsTheSource) {
  Rng rng{RandomKey(2)};
  Container container = MakeContainer({}, 2500000, 0, rng);
  container.shape.records = nullptr;
  const ShuffledFile file(container.shape, nullptr);
  EXPECT_EQ(Whole(file, container), container.content);
}

TEST(ShuffledFileTest, ARecordLargerThanManyBlocksStaysWhole) {
  Rng rng{RandomKey(3)};
  const Container container =
      MakeContainer({10, 3000000, 20, 30, 5000000, 40}, 7, 9, rng);
  for (const auto& [name, options] : NamedPolicies()) {
    const auto policy = PolicyOf(name, options);
    const auto order =
        MakeRecordOrder(*policy, *container.shape.records, OptionsOf(0, 0));
    const std::string all = Whole(Shuffle(container, *policy, 0, 0), container);
    EXPECT_THAT(Cut(all, *order, *container.shape.records),
                UnorderedElementsAreArray(RecordsOf(container)))
        << name;
  }
}

TEST(ShuffledFileTest, TheOrderDoesNotDependOnHowMuchIsReadAtATime) {
  Rng rng{RandomKey(4)};
  const Container container =
      MakeContainer(RandomSizes(20000, 300, rng), 10, 20, rng);
  for (const auto& [name, options] : NamedPolicies()) {
    const auto policy = PolicyOf(name, options);
    RecordOrderOptions whole = OptionsOf(6, 6);
    whole.whole_bytes = container.content.size();
    const ShuffledFile one(
        container.shape,
        MakeRecordOrder(*policy, *container.shape.records, whole));
    EXPECT_EQ(one.part_count(), 3u) << name;  // head, records, tail
    EXPECT_EQ(Whole(one, container),
              Whole(Shuffle(container, *policy, 6, 6), container))
        << name;
  }
}

TEST(RecordOrderTest, ReimuMixesWithinItsWindowsOnly) {
  PolicyOptions options;
  options.Set("reimu.block", 4096);
  options.Set("reimu.window", 4);
  const auto policy = PolicyOf("reimu", options);
  const FixedTable table(0, 64, 64 * 400);  // 400 blocks of 64 records
  const auto order = MakeRecordOrder(*policy, table, OptionsOf(1, 1));
  std::vector<uint64_t> all;
  for (uint64_t part = 0; part < order->part_count(); ++part) {
    for (const uint64_t r : order->Records(part)) all.push_back(r);
  }
  ASSERT_EQ(all.size(), table.count());
  int sorted = 0;
  for (size_t w = 0; w < all.size(); w += 4 * 64) {
    std::map<uint64_t, int> blocks;
    for (size_t i = w; i < w + 4 * 64; ++i) ++blocks[all[i] / 64];
    // Four whole blocks, laid end to end in no order.
    EXPECT_EQ(blocks.size(), 4u) << w;
    for (const auto& [block, records] : blocks) EXPECT_EQ(records, 64);
    sorted += std::is_sorted(all.begin() + w, all.begin() + w + 64) ? 1 : 0;
  }
  EXPECT_EQ(sorted, 0);
}

TEST(RecordOrderTest, PoliciesOfWholeFilesLeaveRecordsWhereTheyAre) {
  const FixedTable table(0, 10, 10);
  for (const char* name : {"native", "static", "clairvoyant"}) {
    const auto policy = PolicyOf(name, PolicyOptions());
    EXPECT_EQ(MakeRecordOrder(*policy, table, OptionsOf(0, 0)), nullptr)
        << name;
  }
}

}  // namespace
}  // namespace shufflefs
