// SPDX-License-Identifier: Apache-2.0
// What is in the tier, and what goes where room is short.
#include "core/tiers/tier_store.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/packed_source_fixture.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST(PartsToRemoveTest, WhatNobodyWantsGoes) {
  EXPECT_THAT(PartsToRemove({{1, 100, 0, 0}, {2, 100, 0, 1}, {3, 100, 50, 60}},
                            {1000, 0, 0}),
              ElementsAre(1));
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
  std::shared_ptr<const StagedPart> Part(uint64_t id,
                                         const std::vector<uint32_t>& files) {
    TierTable table;
    table.fingerprint = catalogue().fingerprint();
    uint64_t at = 0;
    for (const uint32_t file : files) {
      const uint64_t size = catalogue().attributes(EntryId(file)).size;
      table.files.push_back({EntryId(file), at, size});
      at += TierRoundUp(size);
      for (uint64_t c = 0; c < TierChecksOf(size); ++c) {
        table.checks.push_back(file * 100 + c);
      }
    }
    return StagedPart::Of(id, at + kTierPage, table, catalogue());
  }
  const Catalogue& catalogue() const { return *packed_->catalogue; }

  std::unique_ptr<testing_support::PackedTree> packed_;
};

TEST_F(TierStoreTest, FindsWhereFilesLie) {
  TierStore store(packed_->catalogue);
  store.Add(Part(7, {1, 0}));
  store.Add(Part(8, {3}));
  EXPECT_EQ(store.bytes(), 303104u + 8192 + 4096 + 4096 + 4096);
  const auto place = store.Find(EntryId(0));
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->part->id, 7u);
  EXPECT_EQ(place->offset, 303104u);
  EXPECT_THAT(place->checks, ElementsAre(0));
  EXPECT_THAT(store.Find(EntryId(1))->checks, ElementsAre(100, 101, 102));
  EXPECT_FALSE(store.Find(EntryId(2)).has_value());
  EXPECT_TRUE(store.Has(EntryId(3)));
}

TEST_F(TierStoreTest, WhatIsForgottenIsNotFoundAndStillTakesRoom) {
  TierStore store(packed_->catalogue);
  store.Add(Part(7, {0, 1}));
  const uint64_t bytes = store.bytes();
  EXPECT_FALSE(store.Forget(EntryId(0), 8));
  EXPECT_TRUE(store.Forget(EntryId(0), 7));
  EXPECT_FALSE(store.Forget(EntryId(0), 7));
  EXPECT_FALSE(store.Find(EntryId(0)).has_value());
  EXPECT_TRUE(store.Has(EntryId(1)));
  EXPECT_EQ(store.bytes(), bytes);
  store.Add(Part(9, {0}));
  EXPECT_EQ(store.Find(EntryId(0))->part->id, 9u);
  EXPECT_TRUE(store.Remove(7));
  EXPECT_FALSE(store.Remove(7));
  EXPECT_EQ(store.Find(EntryId(0))->part->id, 9u);
  EXPECT_FALSE(store.Has(EntryId(1)));
  EXPECT_EQ(store.bytes(), 8192u + 4096);
}

TEST_F(TierStoreTest, PartsOfAnotherCatalogueAreRefused) {
  TierTable table;
  table.fingerprint = catalogue().fingerprint();
  table.files.push_back({EntryId(0), 0, 5000});
  table.checks = {1};
  EXPECT_NE(StagedPart::Of(1, 12288, table, catalogue()), nullptr);
  table.files[0].length = 4999;
  EXPECT_EQ(StagedPart::Of(1, 12288, table, catalogue()), nullptr);
  table.files[0] = {EntryId(1000), 0, 5000};
  EXPECT_EQ(StagedPart::Of(1, 12288, table, catalogue()), nullptr);
  table.files[0] = {EntryId(0), 0, 5000};
  ++table.fingerprint;
  EXPECT_EQ(StagedPart::Of(1, 12288, table, catalogue()), nullptr);
}

TEST_F(TierStoreTest, UsesCountPagesByRank) {
  TierStore store(packed_->catalogue);
  store.Add(Part(7, {0, 1, 2}));
  store.Forget(EntryId(2), 7);
  const auto uses = store.Uses([](EntryId file) {
    return file == EntryId(0) ? TierStore::Rank::kFirst
                              : TierStore::Rank::kNext;
  });
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(uses[0].first, 8192u);
  EXPECT_EQ(uses[0].wanted, 8192u + 303104);
}

}  // namespace
}  // namespace shufflefs
