// SPDX-License-Identifier: Apache-2.0
#include "core/pool/memory/extents.h"

#include <iterator>
#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Numbered = Extent<int>;
using Table = ExtentTable<int, Numbered>;

std::shared_ptr<Numbered> OfLength(uint64_t length) {
  auto extent = std::make_shared<Numbered>();
  extent->length = length;
  return extent;
}

int64_t SizeOf(const Table& table) {
  return std::distance(table.begin(), table.end());
}

TEST(ExtentTest, ItIsGoneOnceAllItsBytesWereDelivered) {
  const std::shared_ptr<Numbered> extent = OfLength(10);
  EXPECT_FALSE(extent->Deliver(9));
  EXPECT_TRUE(extent->Deliver(1));
  EXPECT_TRUE(extent->Deliver(5));  // some bytes were read twice
}

TEST(ExtentTest, ThoseWhoWaitedAreGivenOnce) {
  const std::shared_ptr<Numbered> extent = OfLength(1);
  extent->waiters = {1, 2};
  EXPECT_FALSE(extent->here);
  EXPECT_THAT(extent->Arrive(), ElementsAre(1, 2));
  EXPECT_TRUE(extent->here);
  EXPECT_THAT(extent->Arrive(), IsEmpty());
}

TEST(ExtentTableTest, AnExtentDropsNoOtherInItsPlace) {
  Table table;
  const std::shared_ptr<Numbered> first = OfLength(1);
  const std::shared_ptr<Numbered> second = OfLength(2);
  table.Put(7, first);
  EXPECT_TRUE(table.Is(7, *first));
  table.Put(7, second);
  EXPECT_FALSE(table.Is(7, *first));
  EXPECT_FALSE(table.Drop(7, *first));
  EXPECT_EQ(table.Find(7), second);
  EXPECT_TRUE(table.Drop(7, *second));
  EXPECT_FALSE(table.Has(7));
  EXPECT_EQ(table.Find(7), nullptr);
}

TEST(ExtentTableTest, OnlyWhatArrivedIsHere) {
  Table table;
  EXPECT_FALSE(table.IsHere(1));
  table.Put(1, OfLength(1));
  EXPECT_FALSE(table.IsHere(1));
  table.Find(1)->Arrive();
  EXPECT_TRUE(table.IsHere(1));
}

TEST(ExtentTableTest, DropsSomeUntilItIsEnough) {
  Table table;
  for (int i = 0; i < 100; ++i) table.Put(i, OfLength(i % 2));
  uint64_t dropped = 0;
  table.DropSome(
      [&](int, const std::shared_ptr<Numbered>& extent) {
        dropped += extent->length;
        return extent->length == 1;
      },
      [&] { return dropped >= 10; });
  EXPECT_EQ(dropped, 10u);
  EXPECT_EQ(SizeOf(table), 90);
  table.DropIf([](int, const std::shared_ptr<Numbered>& extent) {
    return extent->length == 1;
  });
  EXPECT_EQ(SizeOf(table), 50);
  for (const auto& [key, extent] : table) EXPECT_EQ(key % 2, 0);
}

}  // namespace
}  // namespace shufflefs
