// SPDX-License-Identifier: Apache-2.0
// What is in the tier, and what goes where room is short.
#include "core/staging/tier/tier_store.h"

#include <string>

#include "core/staging/tier/tier_dir.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/staging/pack/packed_source_fixture.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST(TierDirTest, NamesOfLongPathsAreNamesOfFiles) {
  const std::string path(300, 'a');
  const std::string name = TierDir::NameOf(path + "b");
  EXPECT_LE(name.size(), 255u);
  EXPECT_NE(name, TierDir::NameOf("c" + path + "b"));
  EXPECT_EQ(TierDir::NameOf(std::string(255, 'a')), std::string(255, 'a'));
}

TEST(PartsToRemoveTest, WhatNobodyWantsGoes) {
  EXPECT_THAT(PartsToRemove({{1, 100, 0, 0}, {2, 100, 0, 1}, {3, 100, 50, 60}},
                            {1000, 0, 0}),
              ElementsAre(1));
}

TEST(PartsToRemoveTest, WhatMayComeAgainStaysInThreeQuarters) {
  const std::vector<PartUse> parts = {
      {3, 100, 0, 0}, {1, 100, 0, 0}, {4, 100, 0, 90}, {2, 100, 0, 0}};
  EXPECT_THAT(PartsToRemove(parts, {600, 0, 0, true}), IsEmpty());
  EXPECT_THAT(PartsToRemove(parts, {520, 0, 0, true}), ElementsAre(1));
  // What is missing comes first.
  EXPECT_THAT(PartsToRemove(parts, {600, 0, 90, true}), ElementsAre(1));
  EXPECT_THAT(PartsToRemove(parts, {600, 0, 300, true}),
              UnorderedElementsAre(1, 2, 3));
}

TEST(PartsToRemoveTest, WhatIsWantedStaysWhereThereIsRoom) {
  EXPECT_THAT(PartsToRemove({{1, 100, 1, 1}, {2, 100, 0, 1}}, {1000, 700, 700}),
              IsEmpty());
}

// A few files of the next epoch would keep all of a former set.
TEST(PartsToRemoveTest, LittleUsedPartsMakeRoom) {
  EXPECT_THAT(PartsToRemove({{1, 100, 10, 20}, {2, 100, 90, 90}}, {200, 0, 90}),
              ElementsAre(1));
  // One that is wanted for the most part stays: to copy it again gains little.
  EXPECT_THAT(PartsToRemove({{1, 100, 0, 60}, {2, 100, 90, 90}}, {200, 0, 100}),
              IsEmpty());
}

TEST(PartsToRemoveTest, TheSetThatIsReadComesBeforeTheNext) {
  EXPECT_THAT(
      PartsToRemove({{1, 100, 0, 100}, {2, 100, 100, 100}}, {200, 90, 90}),
      ElementsAre(1));
}

TEST(PartsToRemoveTest, NoMoreThanIsNeeded) {
  EXPECT_THAT(
      PartsToRemove({{1, 100, 20, 20}, {2, 100, 10, 10}}, {250, 0, 100}),
      ElementsAre(2));
}

class TierStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    packed_ = testing_support::TreeOf({5000, 300000, 1, 4096});
  }
  // The checks tell the range and their number.
  std::shared_ptr<const StagedPart> Part(
      uint64_t id, const std::vector<StagedRange>& ranges) {
    TierTable table;
    table.state = catalogue().state();
    uint64_t at = 0;
    for (const StagedRange& range : ranges) {
      table.ranges.push_back({range, at});
      at += TierRoundUp(range.length);
      for (uint64_t c = 0; c < TierChecksOf(range.length); ++c) {
        table.checks.push_back(range.from + range.file.value() * 100 + c);
      }
    }
    return StagedPart::Of(id, at + kTierPage, table, catalogue());
  }
  StagedRange Whole(uint32_t file) const {
    return WholeFile(catalogue(), EntryId(file));
  }
  // Pages of the second file, which has 74.
  static StagedRange Pages(uint64_t from, uint64_t to) {
    return {EntryId(1), from * kTierPage,
            std::min(to * kTierPage, uint64_t{300000}) - from * kTierPage};
  }
  const Catalogue& catalogue() const { return *packed_->catalogue; }

  std::unique_ptr<testing_support::PackedTree> packed_;
};

TEST_F(TierStoreTest, FindsWhereFilesLie) {
  TierStore store(packed_->catalogue);
  store.Add(Part(7, {Whole(1), Whole(0)}));
  store.Add(Part(8, {Whole(3)}));
  EXPECT_EQ(store.bytes(), 303104u + 8192 + 4096 + 4096 + 4096);
  const auto place = store.Find(EntryId(0), 0);
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->part->id, 7u);
  EXPECT_EQ(place->offset, 303104u);
  EXPECT_THAT(place->checks, ElementsAre(0));
  EXPECT_THAT(store.Find(EntryId(1), 299999)->checks,
              ElementsAre(100, 101, 102));
  EXPECT_FALSE(store.Find(EntryId(2), 0).has_value());
  EXPECT_TRUE(store.Has(Whole(3)));
}

TEST_F(TierStoreTest, RangesOfOneFileLieInSeveralParts) {
  TierStore store(packed_->catalogue);
  store.Add(Part(7, {Pages(40, 74), Pages(0, 10)}));
  store.Add(Part(8, {Whole(0), Pages(9, 20)}));
  const auto found = [&](uint64_t at) {
    return store.Find(EntryId(1), at)->range;
  };
  EXPECT_EQ(found(0), Pages(0, 10));
  EXPECT_EQ(found(9 * kTierPage - 1), Pages(0, 10));
  // The page that two have: the one that reaches further.
  EXPECT_EQ(found(9 * kTierPage), Pages(9, 20));
  EXPECT_EQ(store.Find(EntryId(1), 9 * kTierPage)->offset, 8192u);
  EXPECT_FALSE(store.Find(EntryId(1), 20 * kTierPage).has_value());
  EXPECT_EQ(found(299999), Pages(40, 74));
  EXPECT_EQ(store.Find(EntryId(1), 299999)->offset, 0u);
  EXPECT_THAT(store.Find(EntryId(1), 299999)->checks,
              ElementsAre(40 * kTierPage + 100, 40 * kTierPage + 101));
  EXPECT_FALSE(store.Find(EntryId(2), 0).has_value());

  TierCover cover = store.Around(EntryId(1), 20 * kTierPage);
  EXPECT_EQ(cover.to, 0u);
  EXPECT_EQ(cover.next, 40 * kTierPage);
  cover = store.Around(EntryId(1), 0);
  EXPECT_EQ(cover.to, 10 * kTierPage);
  EXPECT_EQ(cover.next, 9 * kTierPage);
  cover = store.Around(EntryId(1), 299999);
  EXPECT_EQ(cover.to, 74 * kTierPage);
  EXPECT_EQ(cover.next, ~uint64_t{0});  // the next file's is none of it

  EXPECT_TRUE(store.Has(Pages(41, 42)));
  EXPECT_TRUE(store.Has(Pages(0, 10)));
  EXPECT_FALSE(store.Has(Pages(0, 11)));
  EXPECT_FALSE(store.Has(Whole(1)));
  EXPECT_TRUE(store.Forget(Pages(9, 20), 8));
  EXPECT_EQ(found(9 * kTierPage), Pages(0, 10));
  EXPECT_TRUE(store.Has(Whole(0)));
}

TEST_F(TierStoreTest, WhatALargerRangeHoldsIsFoundThere) {
  TierStore store(packed_->catalogue);
  store.Add(Part(7, {Pages(3, 5), Pages(7, 9), Pages(8, 12)}));
  store.Add(Part(8, {Pages(3, 10)}));
  store.Add(Part(9, {Pages(4, 6)}));
  EXPECT_EQ(store.Find(EntryId(1), 4 * kTierPage)->range, Pages(3, 10));
  EXPECT_EQ(store.Find(EntryId(1), 7 * kTierPage)->range, Pages(3, 10));
  EXPECT_EQ(store.Find(EntryId(1), 8 * kTierPage)->range, Pages(8, 12));
  EXPECT_TRUE(store.Has(Pages(7, 9)));
  const auto uses = store.Uses([](const StagedRange& range) {
    return TierStore::Wanted{0, TierRoundUp(range.length)};
  });
  for (const PartUse& use : uses) {
    EXPECT_EQ(use.wanted, (use.id == 7 ? 4 : use.id == 8 ? 7 : 0) * kTierPage);
  }
  EXPECT_TRUE(store.Remove(7));
  EXPECT_TRUE(store.Has(Pages(3, 10)));
  EXPECT_TRUE(store.Remove(8));
  EXPECT_TRUE(store.Remove(9));
  EXPECT_EQ(store.Around(EntryId(1), 0).next, ~uint64_t{0});
  EXPECT_EQ(store.bytes(), 0u);
}

TEST_F(TierStoreTest, WhatIsForgottenIsNotFoundAndStillTakesRoom) {
  TierStore store(packed_->catalogue);
  store.Add(Part(7, {Whole(0), Whole(1)}));
  const uint64_t bytes = store.bytes();
  EXPECT_FALSE(store.Forget(Whole(0), 8));
  EXPECT_TRUE(store.Forget(Whole(0), 7));
  EXPECT_FALSE(store.Forget(Whole(0), 7));
  EXPECT_FALSE(store.Find(EntryId(0), 0).has_value());
  EXPECT_TRUE(store.Has(Whole(1)));
  EXPECT_EQ(store.bytes(), bytes);
  store.Add(Part(9, {Whole(0)}));
  EXPECT_EQ(store.Find(EntryId(0), 0)->part->id, 9u);
  EXPECT_TRUE(store.Remove(7));
  EXPECT_FALSE(store.Remove(7));
  EXPECT_EQ(store.Find(EntryId(0), 0)->part->id, 9u);
  EXPECT_FALSE(store.Has(Whole(1)));
  EXPECT_EQ(store.bytes(), 8192u + 4096);
}

TEST_F(TierStoreTest, PartsOfAnotherCatalogueAreRefused) {
  TierTable table;
  table.state = catalogue().state();
  const auto made = [&](const StagedRange& range) {
    table.ranges = {{range, 0}};
    return StagedPart::Of(1, 12288, table, catalogue()) != nullptr;
  };
  table.checks = {1};
  EXPECT_TRUE(made(Whole(0)));
  EXPECT_TRUE(made({EntryId(0), 0, 4096}));
  EXPECT_TRUE(made({EntryId(0), 4096, 904}));
  EXPECT_FALSE(made({EntryId(0), 0, 4999}));
  EXPECT_FALSE(made({EntryId(0), 0, 8192}));
  EXPECT_FALSE(made({EntryId(0), 4096, 4096}));
  EXPECT_FALSE(made({EntryId(0), 8192, 1}));
  EXPECT_FALSE(made({EntryId(0), ~uint64_t{0} / kTierPage * kTierPage, 4096}));
  EXPECT_FALSE(made({EntryId(1000), 0, 5000}));
  ++table.state;
  EXPECT_FALSE(made(Whole(0)));
}

TEST_F(TierStoreTest, UsesCountPagesBySet) {
  TierStore store(packed_->catalogue);
  store.Add(Part(7, {Whole(0), Whole(1), Whole(2)}));
  store.Forget(Whole(2), 7);
  const auto uses = store.Uses([](const StagedRange& range) {
    const uint64_t bytes = TierRoundUp(range.length);
    return TierStore::Wanted{range.file == EntryId(0) ? bytes : 0, bytes};
  });
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(uses[0].first, 8192u);
  EXPECT_EQ(uses[0].wanted, 8192u + 303104);
}

}  // namespace
}  // namespace shufflefs
