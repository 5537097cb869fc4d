// SPDX-License-Identifier: Apache-2.0
#include "core/records/order/record_order.h"

#include <future>
#include <thread>
#include <vector>

#include "core/formats/record_table.h"
#include "gtest/gtest.h"
#include "tests/core/records/containers/record_fixture.h"

namespace shufflefs {
namespace {

// A hundred parts of ten bytes; who sums up the one at 50 waits for `go_on`.
class HeldOrder : public RecordOrder {
 public:
  uint64_t part_count() const override { return 100; }
  PartRecords RecordsOf(uint64_t part) const override {
    return {{{part, part + 1}}, {0}};
  }
  mutable std::promise<void> reached;
  mutable std::promise<void> go_on;

 protected:
  Sums SumsOf(uint64_t part) const override {
    if (part == 50) {
      reached.set_value();
      go_on.get_future().wait();
    }
    return {10, 1};
  }
  uint64_t steps() const override { return 100; }
};

TEST(RecordOrderTest, WhoSumsUpFarAheadKeepsNobodyWaiting) {
  auto order = std::make_unique<HeldOrder>();
  std::future<uint64_t> far =
      std::async(std::launch::async, [&] { return order->PartAt(905); });
  order->reached.get_future().wait();
  EXPECT_EQ(order->part_begin(49), 490u);
  EXPECT_EQ(order->PartAt(321), 32u);
  EXPECT_GT(order->memory_bytes(), 50 * sizeof(uint64_t));
  order->go_on.set_value();
  EXPECT_EQ(far.get(), 90u);
  EXPECT_EQ(order->part_begin(100), 1000u);
}

// A hundred parts of ten bytes that take long: who needs the last waits for
// `go_on`.
class LongOrder : public HeldOrder {
 protected:
  Sums SumsOf(uint64_t) const override { return {10, 1}; }
  std::vector<Sums> SumsOfAllParts() const override {
    reached.set_value();
    go_on.get_future().wait();
    return std::vector<Sums>(100, Sums{10, 1});
  }
  uint64_t steps() const override { return uint64_t{1} << 40; }
};

TEST(RecordOrderTest, WhoSumsUpAllPartsKeepsNobodyWaiting) {
  auto order = std::make_unique<LongOrder>();
  std::future<uint64_t> far =
      std::async(std::launch::async, [&] { return order->PartAt(905); });
  order->reached.get_future().wait();
  EXPECT_EQ(order->part_begin(1), 10u);
  EXPECT_EQ(order->PartAt(21), 2u);
  order->go_on.set_value();
  EXPECT_EQ(far.get(), 90u);
  EXPECT_EQ(order->part_begin(100), 1000u) << "once";
}

// Through the order for who reads on, through the file for who jumps.
TEST(RecordOrderTest, TheSumsAreTheSameFromNearAndFromFar) {
  Rng rng{RandomKey(2)};
  for (const bool fixed : {false, true}) {
    std::vector<uint64_t> begins = {77};
    for (int i = 0; i < 600000; ++i) {
      begins.push_back(begins.back() + (fixed ? 20 : 1 + rng.Bounded(40)));
    }
    std::shared_ptr<const RecordTable> table =
        std::make_shared<testing_support::PlainTable>(begins);
    if (fixed) table = std::make_shared<FixedTable>(77, 20, 600000);
    const auto policy = testing_support::PolicyOf("lirs", PolicyOptions());
    const auto make = [&] {
      return MakeRecordOrder(*policy, *table, RecordOrderOptions());
    };
    const auto near = make();
    ASSERT_GT(near->part_count(), 9u);
    uint64_t begin = 0;
    for (uint64_t p = 0; p < near->part_count(); ++p) {
      ASSERT_EQ(near->part_begin(p), begin) << p;
      for (const uint64_t record : near->Records(p)) {
        begin += table->bytes(record);
      }
    }
    const auto far = make();
    for (uint64_t p = near->part_count() + 1; p-- > 0;) {
      ASSERT_EQ(far->part_begin(p), near->part_begin(p)) << p;
    }
    const auto at = make();
    const uint64_t offset = near->part_begin(8) + 1;
    EXPECT_EQ(at->PartAt(offset), 8u);
  }
}

TEST(RecordOrderTest, ManyThreadsGetTheSameSums) {
  Rng rng{RandomKey(1)};
  const testing_support::Container container = testing_support::MakeContainer(
      testing_support::RandomSizes(20000, 900, rng), 5, 0, rng);
  const auto policy = testing_support::PolicyOf("lirs", PolicyOptions());
  const auto make = [&] {
    return MakeRecordOrder(*policy, *container.shape.records,
                           RecordOrderOptions());
  };
  const auto expected = make();
  const uint64_t parts = expected->part_count();
  ASSERT_GT(parts, 5u);
  for (uint64_t p = 0; p <= parts; ++p) expected->part_begin(p);
  const auto order = make();
  std::vector<std::jthread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t p = 0; p <= parts; ++p) {
        const uint64_t part = t % 2 == 0 ? p : parts - p;
        EXPECT_EQ(order->part_begin(part), expected->part_begin(part));
      }
    });
  }
}

TEST(RecordOrderTest, ItSaysWhetherASumTakesLong) {
  std::vector<uint64_t> begins;
  for (uint64_t r = 0; r <= 2'000'000; ++r) begins.push_back(300 * r);
  const testing_support::PlainTable many(begins);
  const auto lirs = testing_support::PolicyOf("lirs", PolicyOptions());
  const auto order = MakeRecordOrder(*lirs, many, RecordOrderOptions());
  EXPECT_FALSE(order->is_quick());
  order->part_begin(order->part_count());
  EXPECT_TRUE(order->is_quick());
  const FixedTable alike(0, 300, 2'000'000);
  EXPECT_TRUE(MakeRecordOrder(*lirs, alike, RecordOrderOptions())->is_quick());
  const auto reimu = testing_support::PolicyOf("reimu", PolicyOptions());
  EXPECT_TRUE(MakeRecordOrder(*reimu, many, RecordOrderOptions())->is_quick());
}

std::vector<uint64_t> AllOf(const RecordOrder& order) {
  std::vector<uint64_t> all;
  for (uint64_t part = 0; part < order.part_count(); ++part) {
    const std::vector<uint64_t> records = order.Records(part);
    all.insert(all.end(), records.begin(), records.end());
  }
  return all;
}

TEST(RecordOrderTest, AWindowThatIsTooLargeIsCutAndTheOrderStays) {
  Rng rng{RandomKey(3)};
  const testing_support::Container container = testing_support::MakeContainer(
      testing_support::RandomSizes(9000, 900, rng), 5, 0, rng);
  const RecordTable& table = *container.shape.records;
  PolicyOptions policy_options;
  policy_options.Set("reimu.block", 4096);
  for (const uint64_t window : {1, 40, 300, 1 << 20}) {
    policy_options.Set("reimu.window", window);
    const auto policy = testing_support::PolicyOf("reimu", policy_options);
    const auto whole = MakeRecordOrder(*policy, table, RecordOrderOptions());
    RecordOrderOptions options;
    options.most_part_bytes = 60000;
    options.whole_bytes = 0;
    const auto cut = MakeRecordOrder(*policy, table, options);
    if (window >= 40) EXPECT_GT(cut->part_count(), whole->part_count());
    EXPECT_EQ(AllOf(*cut), AllOf(*whole)) << window;
    uint64_t begin = 0;
    for (uint64_t part = 0; part < cut->part_count(); ++part) {
      ASSERT_EQ(cut->part_begin(part), begin) << window;
      for (const uint64_t r : cut->Records(part)) begin += table.bytes(r);
      EXPECT_LE(begin - cut->part_begin(part), window == 1 ? 1100000 : 80000);
    }
  }
}

// A copy of a plan takes 32 bytes: that of a window of small records may be
// many times as large as the window.
TEST(RecordOrderTest, AWindowOfTinyRecordsIsCutAndTheOrderStays) {
  PolicyOptions policy_options;
  policy_options.Set("reimu.block", 4096);
  policy_options.Set("reimu.window", 50);
  const auto policy = testing_support::PolicyOf("reimu", policy_options);
  const FixedTable table(7, 2, 400000);
  const auto whole = MakeRecordOrder(*policy, table, RecordOrderOptions());
  RecordOrderOptions options;
  options.most_part_bytes = 500000;  // a window fits
  const auto cut = MakeRecordOrder(*policy, table, options);
  for (uint64_t part = 0; part < cut->part_count(); ++part) {
    EXPECT_LE(cut->Records(part).size() * sizeof(PartCopy), 510000u);
  }
  EXPECT_EQ(AllOf(*cut), AllOf(*whole));
  EXPECT_EQ(cut->part_begin(cut->part_count()), 800000u);
}

// However much memory there is for parts.
TEST(RecordOrderTest, NoPlanTakesMuchMoreThan128MiB) {
  const auto policy = testing_support::PolicyOf("reimu", PolicyOptions());
  const FixedTable table(0, 1, 200 << 20);
  const auto order = MakeRecordOrder(*policy, table, RecordOrderOptions());
  EXPECT_GE(order->part_count(), 50u);
  EXPECT_LE(order->RecordsOf(17).positions.size() * sizeof(PartCopy),
            129u << 20);
}

TEST(RecordOrderTest, PlansOfTinyRecordsStaySmall) {
  const auto policy = testing_support::PolicyOf("lirs", PolicyOptions());
  RecordOrderOptions options;
  options.whole_bytes = 8 << 20;
  const FixedTable bytes(0, 1, 4 << 20);
  const FixedTable words(0, 64, 65536);
  const auto tiny = MakeRecordOrder(*policy, bytes, options);
  EXPECT_LE(tiny->Records(0).size() * sizeof(PartCopy), 32u << 20);
  EXPECT_GT(tiny->part_count(), 1u);
  EXPECT_EQ(MakeRecordOrder(*policy, words, options)->part_count(), 1u);
}

}  // namespace
}  // namespace shufflefs
