// SPDX-License-Identifier: Apache-2.0
#include "core/records/content/part_ages.h"

#include "gtest/gtest.h"

namespace shufflefs {
namespace {

using Key = PartAges::Key;

constexpr uint64_t kMemory = 100;

TEST(PartAgesTest, APartWhoseReaderIsGoneLeavesForAnyNeed) {
  PartAges ages(kMemory);
  ages.Add({.ahead = false, .since = 50, .key = {1, 2}});
  EXPECT_EQ(ages.TakeFor(PartNeed::kAhead, 249), absl::nullopt);
  EXPECT_EQ(ages.TakeFor(PartNeed::kPartOrAlone, 249), absl::nullopt);
  EXPECT_EQ(ages.TakeFor(PartNeed::kAhead, 250), Key(1, 2));
  EXPECT_EQ(ages.TakeFor(PartNeed::kPart, 1000), absl::nullopt);
}

TEST(PartAgesTest, TheOneReadLongestAgoLeavesFirst) {
  PartAges ages(kMemory);
  ages.Add({.ahead = false, .since = 20, .key = {1, 1}});
  ages.Add({.ahead = false, .since = 10, .key = {1, 2}});
  EXPECT_EQ(ages.TakeFor(PartNeed::kPart, 100), Key(1, 2));
  EXPECT_EQ(ages.TakeFor(PartNeed::kPart, 100), Key(1, 1));
}

TEST(PartAgesTest, APartThatNoReaderCameToLeavesInTheEnd) {
  PartAges ages(kMemory);
  ages.Add({.ahead = true, .since = 10, .key = {1, 1}});
  EXPECT_EQ(ages.TakeFor(PartNeed::kAhead, 409), absl::nullopt);
  EXPECT_EQ(ages.TakeFor(PartNeed::kAhead, 410), Key(1, 1));
}

// Its reader may still come to it, but another waits now. The one that is
// furthest ahead leaves.
TEST(PartAgesTest, AReaderTakesWhatIsFurthestAhead) {
  PartAges ages(kMemory);
  ages.Add({.ahead = true, .since = 10, .key = {1, 1}});
  ages.Add({.ahead = true, .since = 20, .key = {1, 2}});
  ages.Add({.ahead = false, .since = 90, .key = {2, 0}});
  EXPECT_EQ(ages.TakeFor(PartNeed::kPartOrAlone, 100), absl::nullopt);
  EXPECT_EQ(ages.TakeFor(PartNeed::kPart, 100), Key(1, 2));
  EXPECT_EQ(ages.TakeFor(PartNeed::kPart, 100), Key(1, 1));
  EXPECT_EQ(ages.TakeFor(PartNeed::kPart, 100), Key(2, 0));
}

TEST(PartAgesTest, ForgottenFilesAndRemovedPartsAreNotTaken) {
  PartAges ages(kMemory);
  ages.Add({.ahead = false, .since = 1, .key = {1, 1}});
  ages.Add({.ahead = false, .since = 2, .key = {2, 1}});
  ages.Add({.ahead = false, .since = 3, .key = {3, 1}});
  ages.Forget({1});
  ages.Remove({.ahead = false, .since = 2, .key = {2, 1}});
  EXPECT_EQ(ages.TakeFor(PartNeed::kPart, 100), Key(3, 1));
  EXPECT_EQ(ages.TakeFor(PartNeed::kPart, 100), absl::nullopt);
}

}  // namespace
}  // namespace shufflefs
