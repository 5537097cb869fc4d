// SPDX-License-Identifier: Apache-2.0
#include "core/records/content/pass_tracker.h"

#include <algorithm>
#include <random>
#include <vector>

#include "core/random/random.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

using OpenIs = PassTracker::OpenIs;

TEST(SeenBytesTest, AgreesWithAMapOfBytes) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng{RandomKey(seed)};
  for (int round = 0; round < 200; ++round) {
    const uint64_t size = 1 + rng.Bounded(60);
    SeenBytes seen;
    std::vector<bool> model(size);
    for (int i = 0; i < 40; ++i) {
      const uint64_t begin = rng.Bounded(size);
      const uint64_t end = begin + rng.Bounded(size - begin + 1);
      const auto before = static_cast<int64_t>(seen.ranges());
      const int64_t more = seen.Add(begin, end, 1000);
      EXPECT_EQ(more, static_cast<int64_t>(seen.ranges()) - before);
      for (uint64_t at = begin; at < end; ++at) model[at] = true;
      const bool all =
          std::find(model.begin(), model.end(), false) == model.end();
      ASSERT_EQ(seen.HasAll(size), all) << round << " " << i;
    }
  }
}

TEST(SeenBytesTest, HasABoundAndThenNeverSaysTooMuch) {
  SeenBytes seen;
  for (uint64_t at = 0; at < 10; ++at) seen.Add(2 * at, 2 * at + 1, 4);
  EXPECT_EQ(seen.ranges(), 4u);
  // What joins others takes no room; [9, 18) but for what was seen is missing.
  for (uint64_t at = 0; at < 4; ++at) seen.Add(2 * at + 1, 2 * at + 2, 4);
  EXPECT_EQ(seen.ranges(), 1u);
  EXPECT_TRUE(seen.HasAll(8));
  EXPECT_FALSE(seen.HasAll(9));
  seen.Add(8, 19, 4);
  EXPECT_TRUE(seen.HasAll(19));
}

TEST(PassTrackerTest, WhatIsReadHereAndThereTakesBoundedMemory) {
  PassTracker tracker;
  for (uint64_t page = 0; page < 4'000'000; page += 2) {
    tracker.Delivered(EntryId(static_cast<uint32_t>(page % 3)), page, page + 1,
                      4'000'000);
  }
  EXPECT_LE(tracker.ranges(), uint64_t{1} << 20);
  EXPECT_GE(tracker.ranges(), uint64_t{1} << 19);
}

TEST(PassTrackerTest, APassEndsWhenAllWasReadAndOneIsOpenedAgain) {
  PassTracker tracker;
  const EntryId a(3);
  const EntryId b(9);
  EXPECT_EQ(tracker.Open(a, 9, 2), OpenIs::kOfThisPass);
  EXPECT_EQ(tracker.Open(b, 9, 2), OpenIs::kOfThisPass);
  tracker.Delivered(a, 0, 50, 100);
  tracker.Delivered(a, 50, 100, 100);
  tracker.Close(a);
  EXPECT_EQ(tracker.Open(a, 9, 2), OpenIs::kOfThisPass) << "b was not read";
  tracker.Delivered(b, 0, 10, 10);
  EXPECT_EQ(tracker.complete(), 2u);
  EXPECT_EQ(tracker.Open(a, 9, 2), OpenIs::kUnclear) << "a is still open";
  EXPECT_FALSE(tracker.BeginsByLookup(a, 2));
  EXPECT_EQ(tracker.Open(a, 9, 2), OpenIs::kOfThisPass) << "said once";
  tracker.Close(a);
  tracker.Close(a);
  EXPECT_EQ(tracker.Open(b, 0, 2), OpenIs::kOfThisPass) << "b is still open";
  EXPECT_EQ(tracker.Open(a, 9, 2), OpenIs::kTheNextPass);
}

TEST(PassTrackerTest, AnUnclearOpenBeginsThePassByItsLookup) {
  PassTracker tracker;
  const EntryId a(3);
  EXPECT_EQ(tracker.Open(a, 1, 1), OpenIs::kOfThisPass);
  tracker.Delivered(a, 0, 10, 10);
  EXPECT_FALSE(tracker.BeginsByLookup(a, 1)) << "nobody opened it again";
  // The descriptor was closed, and the daemon hears of it too late.
  EXPECT_EQ(tracker.Open(a, 1, 1), OpenIs::kUnclear);
  EXPECT_EQ(tracker.Open(a, 2, 1), OpenIs::kUnclear);
  tracker.Close(a);
  EXPECT_TRUE(tracker.BeginsByLookup(a, 1));
}

TEST(PassTrackerTest, WhatAnEarlierRunDeliveredIsOfThisPass) {
  PassTracker tracker;
  const EntryId a(3);
  const EntryId b(9);
  tracker.Restore(a);
  tracker.Restore(a);
  EXPECT_EQ(tracker.complete(), 1u);
  EXPECT_EQ(tracker.Open(a, 9, 2), OpenIs::kOfThisPass) << "b was not read";
  EXPECT_FALSE(tracker.Delivered(a, 0, 100, 100)) << "it was complete";
  tracker.Close(a);
  EXPECT_EQ(tracker.Open(b, 9, 2), OpenIs::kOfThisPass);
  EXPECT_FALSE(tracker.Delivered(b, 0, 5, 10));
  EXPECT_TRUE(tracker.Delivered(b, 5, 10, 10));
  tracker.Close(b);
  EXPECT_EQ(tracker.Open(a, 9, 2), OpenIs::kTheNextPass);
}

TEST(PassTrackerTest, AFileThatWasNeverOpenedDoesNotBeginAPass) {
  PassTracker tracker;
  tracker.Delivered(EntryId(1), 0, 10, 10);  // through a mapping, say
  EXPECT_EQ(tracker.Open(EntryId(1), 9, 1), OpenIs::kOfThisPass);
  tracker.Close(EntryId(1));
  EXPECT_EQ(tracker.Open(EntryId(1), 9, 1), OpenIs::kTheNextPass);
}

}  // namespace
}  // namespace shufflefs
