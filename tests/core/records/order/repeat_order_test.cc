// SPDX-License-Identifier: Apache-2.0
#include "core/records/order/repeat_order.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/records/order/record_order.h"
#include "core/records/order/shuffled_file.h"
#include "gtest/gtest.h"
#include "tests/core/records/containers/record_fixture.h"

namespace shufflefs {
namespace {

using testing_support::Apply;
using testing_support::Container;
using testing_support::MakeContainer;
using testing_support::MakeLines;
using testing_support::PlainTable;
using testing_support::PolicyOf;
using testing_support::RandomSizes;
using testing_support::RandomTable;

PolicyOptions Options(uint64_t minis, uint64_t repeat, uint64_t epochs) {
  PolicyOptions options;
  options.Set("reimu.block", 4096);
  options.Set("reimu.window", 3);
  options.Set("met.mini_epochs", minis);
  options.Set("met.repeat", repeat);
  options.Set("met.epochs", epochs);
  return options;
}

RecordOrderOptions OrderOptions(uint64_t epoch) {
  RecordOrderOptions options;
  options.key = 5;
  options.seed = Seed(3);
  options.epoch = Epoch(epoch);
  options.may_repeat = true;
  return options;
}

std::vector<uint64_t> All(const RecordOrder& order) {
  std::vector<uint64_t> records;
  for (uint64_t p = 0; p < order.part_count(); ++p) {
    EXPECT_EQ(order.part_first(p), records.size());
    for (const uint64_t r : order.Records(p)) records.push_back(r);
  }
  return records;
}

// Over met.epochs every record comes as often as every other, in each epoch as
// many come as there are, and none follows itself.
TEST(RepeatOrderTest, EveryRecordComesAsOftenAsEveryOther) {
  Rng rng{RandomKey(1)};
  for (int round = 0; round < 60; ++round) {
    const uint64_t count = 1 + rng.Bounded(4000);
    const uint64_t most = rng.Bounded(8) == 0 ? 20000 : 1 + rng.Bounded(900);
    const PlainTable table = RandomTable(count, most, rng);
    const uint64_t epochs = 2 + rng.Bounded(9);
    const auto policy = PolicyOf(
        "met", Options(1 + rng.Bounded(12), 1 + rng.Bounded(9), epochs));
    SCOPED_TRACE(testing::Message() << "round " << round << ", records "
                                    << count << ", epochs " << epochs);
    const uint64_t cycle = rng.Bounded(3) * epochs;
    std::vector<uint64_t> shown(count);
    for (uint64_t e = 0; e < epochs; ++e) {
      const auto order =
          MakeRecordOrder(*policy, table, OrderOptions(cycle + e));
      const std::vector<uint64_t> records = All(*order);
      ASSERT_EQ(records.size(), count);
      for (const uint64_t r : records) ++shown[r];
      if (count > 1) {
        EXPECT_EQ(std::adjacent_find(records.begin(), records.end()),
                  records.end());
      }
    }
    EXPECT_EQ(shown, std::vector<uint64_t>(count, epochs));
  }
}

// One mini-epoch after the other, each as often as the factor says, and every
// repetition in an order of its own.
TEST(RepeatOrderTest, AMiniEpochComesSeveralTimesBeforeTheNext) {
  Rng rng{RandomKey(2)};
  const PlainTable table = RandomTable(2000, 2000, rng);
  const auto policy = PolicyOf("met", Options(8, 4, 4));
  std::vector<uint64_t> pass;
  for (uint64_t e = 0; e < 4; ++e) {
    const auto order = MakeRecordOrder(*policy, table, OrderOptions(e));
    ASSERT_NE(order->repeats(), nullptr);
    EXPECT_EQ(order->repeats()->mini_epochs(), 8u);
    for (const uint64_t r : All(*order)) pass.push_back(r);
  }
  std::set<uint64_t> seen;
  size_t at = 0;
  while (at < pass.size()) {
    std::set<uint64_t> mini;
    while (at + mini.size() < pass.size() &&
           mini.insert(pass[at + mini.size()]).second) {
    }
    std::set<std::vector<uint64_t>> orders;
    for (int r = 0; r < 4; ++r, at += mini.size()) {
      ASSERT_LE(at + mini.size(), pass.size());
      const auto begin = pass.begin() + static_cast<int64_t>(at);
      const auto end = begin + static_cast<int64_t>(mini.size());
      EXPECT_EQ(std::set<uint64_t>(begin, end), mini);
      orders.insert(std::vector<uint64_t>(begin, end));
    }
    EXPECT_EQ(orders.size(), 4u);
    for (const uint64_t r : mini) EXPECT_TRUE(seen.insert(r).second);
  }
  EXPECT_EQ(seen.size(), 2000u);
}

// However small the parts are that memory holds.
TEST(RepeatOrderTest, TheOrderDoesNotDependOnTheParts) {
  Rng rng{RandomKey(4)};
  const PlainTable table = RandomTable(9000, 900, rng);
  const auto policy = PolicyOf("met", Options(3, 2, 4));
  for (uint64_t e = 0; e < 4; ++e) {
    const auto whole = MakeRecordOrder(*policy, table, OrderOptions(e));
    RecordOrderOptions options = OrderOptions(e);
    options.most_part_bytes = 50000;
    const auto cut = MakeRecordOrder(*policy, table, options);
    EXPECT_GT(cut->part_count(), 3 * whole->part_count());
    EXPECT_EQ(All(*cut), All(*whole));
    uint64_t bytes = 0;
    for (const uint64_t r : All(*cut)) bytes += table.bytes(r);
    EXPECT_EQ(cut->part_begin(cut->part_count()), bytes);
    EXPECT_EQ(whole->part_begin(whole->part_count()), bytes);
  }
}

// Of tiny records the plan of a window is larger than the window.
TEST(RepeatOrderTest, PartsOfTinyRecordsAreSmallAndHaveNoneTwice) {
  std::vector<uint64_t> begins;
  for (uint64_t r = 0; r <= 90000; ++r) begins.push_back(2 * r);
  const PlainTable table(begins);
  const auto policy = PolicyOf("met", Options(3, 2, 4));
  const auto whole = MakeRecordOrder(*policy, table, OrderOptions(1));
  RecordOrderOptions options = OrderOptions(1);
  options.most_part_bytes = 96000;
  const auto cut = MakeRecordOrder(*policy, table, options);
  for (uint64_t part = 0; part < cut->part_count(); ++part) {
    const std::vector<uint64_t> records = cut->Records(part);
    EXPECT_LE(records.size(), 3000u);
    EXPECT_EQ(std::set<uint64_t>(records.begin(), records.end()).size(),
              records.size());
  }
  EXPECT_EQ(All(*cut), All(*whole));
}

TEST(RepeatOrderTest, AnEpochIsAFunctionOfItsNumber) {
  Rng rng{RandomKey(5)};
  const PlainTable table = RandomTable(3000, 700, rng);
  const auto policy = PolicyOf("met", Options(4, 3, 7));
  const auto make = [&](uint64_t e) {
    return All(*MakeRecordOrder(*policy, table, OrderOptions(e)));
  };
  std::set<std::vector<uint64_t>> all;
  for (uint64_t e = 0; e < 14; ++e) {
    EXPECT_EQ(make(e), make(e));
    all.insert(make(e));
  }
  EXPECT_EQ(all.size(), 14u);
}

// Bits that other versions have to give, too.
TEST(RepeatOrderTest, TheOrderIsThatOfItsDefinition) {
  std::vector<uint64_t> begins;
  for (uint64_t r = 0; r <= 24; ++r) begins.push_back(100 + r * 2048);
  const PlainTable table(begins);
  const auto policy = PolicyOf("met", Options(3, 2, 2));
  EXPECT_EQ(
      All(*MakeRecordOrder(*policy, table, OrderOptions(0))),
      (std::vector<uint64_t>{14, 20, 17, 15, 21, 16, 15, 17, 21, 20, 14, 16,
                             10, 7,  6,  11, 22, 23, 10, 6,  11, 23, 7,  22}));
}

TEST(RepeatOrderTest, NothingRepeatsThatMayNot) {
  Rng rng{RandomKey(6)};
  const PlainTable table = RandomTable(3000, 700, rng);
  const auto policy = PolicyOf("met", Options(4, 3, 7));
  RecordOrderOptions options = OrderOptions(0);
  options.may_repeat = false;
  const auto order = MakeRecordOrder(*policy, table, options);
  EXPECT_EQ(order->repeats(), nullptr);
  std::vector<uint64_t> records = All(*order);
  std::sort(records.begin(), records.end());
  for (uint64_t r = 0; r < 3000; ++r) ASSERT_EQ(records[r], r);
  // The last epoch of seven, by threes, is one of a pass of its own.
  EXPECT_EQ(MakeRecordOrder(*policy, table, OrderOptions(6))->repeats(),
            nullptr);
  // Nothing is said of how many epochs there are.
  const auto unknown = PolicyOf("met", Options(4, 3, 0));
  EXPECT_EQ(MakeRecordOrder(*unknown, table, OrderOptions(0))->repeats(),
            nullptr);
}

// What somebody speaks of by its place comes once.
TEST(RepeatOrderTest, WhatIsSpokenOfByItsPlaceMayNotRepeat) {
  ContainerShape plain;
  plain.file_bytes = 1000;
  plain.records = std::make_shared<FixedTable>(0, 10, 100);
  EXPECT_TRUE(plain.may_repeat());
  ContainerShape shape = plain;
  shape.aligned = true;
  EXPECT_FALSE(shape.may_repeat());
  shape = plain;
  shape.order_by = plain.records;
  EXPECT_FALSE(shape.may_repeat());
  shape = plain;
  shape.index = IndexLines();
  EXPECT_FALSE(shape.may_repeat());
  shape = plain;
  shape.keeps_order = true;
  EXPECT_FALSE(shape.may_repeat());
  shape = plain;
  shape.records = nullptr;
  EXPECT_FALSE(shape.may_repeat());
}

std::string Shown(const ShuffledFile& file, const std::string& content) {
  std::string shown;
  for (uint64_t p = 0; p < file.part_count(); ++p) {
    EXPECT_EQ(file.part_begin(p), shown.size());
    shown += Apply(file.Plan(p), content);
  }
  EXPECT_EQ(file.bytes(), shown.size());
  return shown;
}

// Head and tail stay, and the size is that of the records that come.
TEST(RepeatOrderTest, AFileShowsTheRecordsOfItsEpoch) {
  Rng rng{RandomKey(9)};
  const auto policy = PolicyOf("met", Options(5, 4, 9));
  const Container made =
      MakeContainer(RandomSizes(700, 1500, rng), 77, 33, rng);
  const RecordTable& table = *made.shape.records;
  std::set<uint64_t> sizes;
  for (uint64_t e = 0; e < 8; ++e) {
    const auto order = [&] {
      return MakeRecordOrder(*policy, table, OrderOptions(e));
    };
    std::string expected = made.content.substr(0, 77);
    for (const uint64_t r : All(*order())) {
      expected += made.content.substr(table.begin(r), table.bytes(r));
    }
    expected += made.content.substr(table.begin(table.count()));
    const ShuffledFile file(made.shape, order());
    ASSERT_EQ(Shown(file, made.content), expected) << e;
    sizes.insert(expected.size());
    EXPECT_FALSE(file.OrderPartAt(76));
    EXPECT_FALSE(file.OrderPartAt(expected.size() - 33));
    ASSERT_TRUE(file.OrderPartAt(77));
    EXPECT_EQ(*file.OrderPartAt(77), 0u);
    EXPECT_EQ(*file.OrderPartAt(expected.size() - 34),
              file.ShownParts().last - 1);
  }
  EXPECT_GT(sizes.size(), 4u);
}

// The line without an end gets one wherever it comes, and the last gives its
// own up.
TEST(RepeatOrderTest, LinesStayLines) {
  std::vector<std::string> lines;
  for (int i = 0; i < 4000; ++i) lines.push_back("line " + std::to_string(i));
  const Container made = MakeLines(lines, 20);
  const auto policy = PolicyOf("met", Options(2, 3, 3));
  for (uint64_t e = 0; e < 3; ++e) {
    const auto order = [&] {
      return MakeRecordOrder(*policy, *made.shape.records, OrderOptions(e));
    };
    std::string expected(20, '#');
    for (const uint64_t r : All(*order())) expected += lines[r] + "\n";
    expected.pop_back();
    EXPECT_EQ(Shown(ShuffledFile(made.shape, order()), made.content), expected);
  }
}

// Of a mini-epoch's records.
TEST(RepeatOrderTest, WhatIsStagedIsWhereTheRecordsLie) {
  Rng rng{RandomKey(10)};
  const auto policy = PolicyOf("met", Options(4, 4, 4));
  const Container made =
      MakeContainer(RandomSizes(700, 1500, rng), 77, 33, rng);
  const RecordTable& table = *made.shape.records;
  const ShuffledFile file(made.shape,
                          MakeRecordOrder(*policy, table, OrderOptions(0)));
  const RepeatOrder& order = *file.repeats();
  uint64_t bytes = 0;
  for (uint64_t m = 0; m < order.mini_epochs(); ++m) {
    std::set<uint64_t> records;
    for (const PartRecords::Run& run : order.RunsOf(m)) {
      const std::vector<PartCopy> places = file.PlacesOf(run);
      ASSERT_EQ(places.size(), 1u);
      EXPECT_EQ(places[0].from, table.begin(run.first));
      EXPECT_EQ(places[0].from + places[0].bytes, table.begin(run.last));
      bytes += places[0].bytes;
      for (uint64_t r = run.first; r < run.last; ++r) records.insert(r);
    }
    for (uint64_t p = 0; p < order.part_count(); ++p) {
      if (order.MiniEpochOf(p) != m) continue;
      for (const uint64_t r : order.Records(p))
        EXPECT_TRUE(records.contains(r));
    }
  }
  EXPECT_EQ(bytes, table.begin(table.count()) - table.begin(0));
}

}  // namespace
}  // namespace shufflefs
