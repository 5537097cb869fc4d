// SPDX-License-Identifier: Apache-2.0
// Columnar containers with the entries of their footers in another order.
#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/records/order/record_order.h"
#include "core/records/order/shuffled_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/formats/columnar/columnar_fixture.h"

namespace shufflefs {
namespace {

using ::testing::UnorderedElementsAreArray;
using testing_support::Apply;
using testing_support::Container;
using testing_support::MakeArrowFile;
using testing_support::MakeParquet;
using testing_support::PolicyOf;
using testing_support::RandomSizes;

constexpr uint64_t kPart = 128 << 10;

std::vector<std::pair<const char*, PolicyOptions>> Policies() {
  PolicyOptions page;
  page.Set("lirs.unit", "page");
  page.Set("lirs.batch", 3);
  PolicyOptions reimu;
  reimu.Set("reimu.window", 5);
  PolicyOptions window;
  window.Set("window.samples", 20);
  return {{"lirs", PolicyOptions()},
          {"lirs", page},
          {"reimu", reimu},
          {"window", window}};
}

ShuffledFile Shuffle(const ContainerShape& shape, const Policy& policy,
                     uint64_t epoch) {
  RecordOrderOptions options;
  options.key = 77;
  options.epoch = Epoch(epoch);
  options.records_are_blocks = true;
  return ShuffledFile(shape, MakeRecordOrder(policy, *shape.records, options));
}

std::string Whole(const ShuffledFile& file, const Container& container) {
  std::string all;
  for (uint64_t part = 0; part < file.part_count(); ++part) {
    EXPECT_EQ(file.part_begin(part), all.size()) << part;
    all += Apply(file.Plan(part), container.content);
  }
  EXPECT_EQ(file.part_begin(file.part_count()), all.size());
  return all;
}

// Where the groups lie, and how large they are, in the order of the list.
using Listed = std::vector<std::pair<uint64_t, uint64_t>>;
Listed GroupsOf(const std::string& content, bool parquet) {
  const std::string tail = content.substr(
      content.size() - (parquet ? kParquetTailBytes : kArrowTailBytes));
  const uint64_t bytes =
      parquet ? *ParquetFooterBytes(tail) : *ArrowFooterBytes(tail);
  const std::string footer = content.substr(content.size() - bytes);
  const auto parsed = parquet ? ParseParquetFooter(footer, content.size())
                              : ParseArrowFooter(footer, content.size());
  Listed listed;
  if (!parsed.ok()) {
    ADD_FAILURE() << parsed.status();
    return listed;
  }
  const std::vector<uint64_t> begins = (*parsed)->group_begins();
  const std::vector<uint64_t> sizes = (*parsed)->group_bytes();
  for (size_t i = 0; i < begins.size(); ++i) {
    listed.emplace_back(begins[i], sizes[i]);
  }
  return listed;
}

// All that is to be expected of a container; returns epoch 3 of it.
std::string Check(const Container& container, const Policy& policy,
                  bool parquet) {
  const ContainerShape& shape = container.shape;
  const uint64_t begin = shape.columnar->footer().begin();
  const uint64_t end = begin + shape.columnar->footer().size();
  const Listed before = GroupsOf(container.content, parquet);
  std::string all;
  for (uint64_t epoch = 0; epoch < 4; ++epoch) {
    all = Whole(Shuffle(shape, policy, epoch), container);
    EXPECT_EQ(all.size(), container.content.size());
    EXPECT_EQ(all.substr(0, begin), container.content.substr(0, begin));
    EXPECT_EQ(all.substr(end), container.content.substr(end));
    EXPECT_THAT(GroupsOf(all, parquet), UnorderedElementsAreArray(before));
  }
  EXPECT_EQ(all, Whole(Shuffle(shape, policy, 3), container));
  return all;
}

TEST(ColumnarFileTest, NothingMovesButTheListOfItsGroups) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng{RandomKey(seed)};
  for (const auto& [name, options] : Policies()) {
    const auto policy = PolicyOf(name, options);
    for (const size_t count : {1u, 2u, 50u, 700u}) {
      SCOPED_TRACE(testing::Message() << name << " " << count);
      const auto sizes = RandomSizes(count, 3000, rng);
      for (const bool ordinals : {false, true}) {
        const Container parquet = MakeParquet(sizes, ordinals, rng);
        const std::string shown = Check(parquet, *policy, /*parquet=*/true);
        if (count >= 50) EXPECT_NE(shown, parquet.content);
      }
      const Container arrow = MakeArrowFile(sizes, rng);
      const std::string shown = Check(arrow, *policy, /*parquet=*/false);
      if (count >= 50) EXPECT_NE(shown, arrow.content);
    }
  }
}

TEST(ColumnarFileTest, WithoutGroupsItIsTheSource) {
  Rng rng{RandomKey(1)};
  const Container container = MakeArrowFile({}, rng);
  const ShuffledFile file(container.shape, nullptr);
  EXPECT_EQ(Whole(file, container), container.content);
  EXPECT_EQ(container.shape.columnar->NextBegin(3), 64u + 8u);
}

TEST(ColumnarFileTest, AnyRangeIsThatOfTheWhole) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng{RandomKey(seed)};
  const auto policy = PolicyOf("lirs", PolicyOptions());
  const Container container =
      MakeParquet(RandomSizes(900, 2000, rng), true, rng);
  const ShuffledFile file = Shuffle(container.shape, *policy, 1);
  const std::string all = Whole(file, container);
  const uint64_t list = container.shape.columnar->footer().begin();
  for (int i = 0; i < 300; ++i) {
    // Every other one in the list.
    const uint64_t offset = i % 2 == 0 ? rng.Bounded(all.size())
                                       : list + rng.Bounded(all.size() - list);
    const uint64_t part = file.PartAt(offset);
    const uint64_t begin = file.part_begin(part);
    ASSERT_LE(begin, offset);
    ASSERT_GT(file.part_begin(part + 1), offset);
    const PartPlan plan = file.Plan(part);
    const uint64_t from = rng.Bounded(plan.bytes);
    const uint64_t to = from + 1 + rng.Bounded(plan.bytes - from);
    const PartPlan piece = Clip(Clip(plan, from, plan.bytes), 0, to - from);
    ASSERT_EQ(Apply(piece, container.content),
              all.substr(begin + from, to - from));
  }
}

TEST(ColumnarFileTest, WindowsCountGroupsAndBlocksDoNotSplitThem) {
  PolicyOptions options;
  options.Set("reimu.window", 4);
  const auto policy = PolicyOf("reimu", options);
  Rng rng{RandomKey(2)};
  const Container container =
      MakeArrowFile(std::vector<uint64_t>(100, 10), rng);
  RecordOrderOptions order_options;
  order_options.records_are_blocks = true;
  const auto order =
      MakeRecordOrder(*policy, *container.shape.records, order_options);
  std::vector<uint64_t> groups;
  for (uint64_t part = 0; part < order->part_count(); ++part) {
    for (const uint64_t group : order->Records(part)) groups.push_back(group);
  }
  EXPECT_FALSE(std::is_sorted(groups.begin(), groups.end()));
  std::sort(groups.begin(), groups.end());
  ASSERT_EQ(groups.size(), 100u);
  for (uint64_t i = 0; i < 100; ++i) EXPECT_EQ(groups[i], i);
}

TEST(ColumnarFileTest, NothingIsFetchedAheadOverTheEndOfAGroup) {
  Rng rng{RandomKey(3)};
  const uint64_t size = 10 * kPart;
  const Container container = MakeParquet({size, size, size}, false, rng);
  const auto policy = PolicyOf("lirs", PolicyOptions());
  const ShuffledFile file = Shuffle(container.shape, *policy, 0);
  EXPECT_EQ(file.AheadEnd(kPart, 0), kPart);
  EXPECT_EQ(file.AheadEnd(kPart, kPart), kPart);
  EXPECT_EQ(file.AheadEnd(3 * kPart, 2 * kPart), 4 * kPart);
  EXPECT_EQ(file.AheadEnd(5 * kPart, 4 * kPart), 7 * kPart);
  EXPECT_EQ(file.AheadEnd(9 * kPart, 8 * kPart), 4 + size);
  EXPECT_EQ(file.AheadEnd(4 + size, 9 * kPart), 4 + size);
  EXPECT_EQ(file.AheadEnd(4 + size + 1, 9 * kPart),
            4 + size + 1 + 9 * kPart / 2);
  const uint64_t list = container.shape.columnar->footer().begin();
  EXPECT_EQ(file.AheadEnd(list - 5, 100 * kPart), list);
  EXPECT_EQ(file.AheadEnd(list + 5, 100 * kPart), list + 5);
}

}  // namespace
}  // namespace shufflefs
