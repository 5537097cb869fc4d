// SPDX-License-Identifier: Apache-2.0
#include "core/records/content/pass_tracker.h"

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "core/random/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

using OpenIs = PassTracker::OpenIs;

// By a process of its own.
OpenIs Open(PassTracker& tracker, EntryId file, uint32_t reader,
            uint64_t files) {
  return tracker.Open(file, {reader, reader, reader}, files,
                      [](uint32_t) { return false; });
}

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
  EXPECT_EQ(Open(tracker, a, 9, 2), OpenIs::kOfThisPass);
  EXPECT_EQ(Open(tracker, b, 9, 2), OpenIs::kOfThisPass);
  tracker.Delivered(a, 0, 50, 100);
  tracker.Delivered(a, 50, 100, 100);
  tracker.Close(a);
  EXPECT_EQ(Open(tracker, a, 9, 2), OpenIs::kOfThisPass) << "b was not read";
  tracker.Delivered(b, 0, 10, 10);
  EXPECT_EQ(tracker.complete(), 2u);
  EXPECT_EQ(Open(tracker, a, 9, 2), OpenIs::kUnclear) << "a is still open";
  EXPECT_FALSE(tracker.BeginsByLookup(a, 2));
  EXPECT_EQ(Open(tracker, a, 9, 2), OpenIs::kOfThisPass) << "said once";
  tracker.Close(a);
  tracker.Close(a);
  EXPECT_EQ(Open(tracker, b, 0, 2), OpenIs::kOfThisPass) << "b is still open";
  EXPECT_EQ(Open(tracker, a, 9, 2), OpenIs::kTheNextPass);
}

TEST(PassTrackerTest, AnUnclearOpenBeginsThePassByItsLookup) {
  PassTracker tracker;
  const EntryId a(3);
  EXPECT_EQ(Open(tracker, a, 1, 1), OpenIs::kOfThisPass);
  tracker.Delivered(a, 0, 10, 10);
  EXPECT_FALSE(tracker.BeginsByLookup(a, 1)) << "nobody opened it again";
  // The descriptor was closed, and the daemon hears of it too late.
  EXPECT_EQ(Open(tracker, a, 1, 1), OpenIs::kUnclear);
  EXPECT_EQ(Open(tracker, a, 2, 1), OpenIs::kUnclear);
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
  EXPECT_EQ(Open(tracker, a, 9, 2), OpenIs::kOfThisPass) << "b was not read";
  EXPECT_FALSE(tracker.Delivered(a, 0, 100, 100)) << "it was complete";
  tracker.Close(a);
  EXPECT_EQ(Open(tracker, b, 9, 2), OpenIs::kOfThisPass);
  EXPECT_FALSE(tracker.Delivered(b, 0, 5, 10));
  EXPECT_TRUE(tracker.Delivered(b, 5, 10, 10));
  tracker.Close(b);
  EXPECT_EQ(Open(tracker, a, 9, 2), OpenIs::kTheNextPass);
}

TEST(PassTrackerTest, AJobThatGoesOnReadsTheRestOnceMore) {
  PassTracker tracker;
  const EntryId a(3), b(9), c(4), d(5);
  for (const EntryId file : {a, b, c}) {
    EXPECT_EQ(Open(tracker, file, 9, 4), OpenIs::kOfThisPass);
    tracker.Delivered(file, 0, 10, 10);
    if (file != c) tracker.Close(file);
  }
  EXPECT_THAT(tracker.whole(), testing::UnorderedElementsAre(a, b, c));
  // Elsewhere, d had been read as well, and b and c had not.
  tracker.GoOnFrom({a, d});
  EXPECT_EQ(tracker.complete(), 2u);
  EXPECT_EQ(tracker.ranges(), 1u) << "of a";
  EXPECT_THAT(tracker.whole(), testing::UnorderedElementsAre(a, d));
  for (const EntryId file : {a, b, c, d}) {
    EXPECT_EQ(tracker.IsReadAgain(file), file == b || file == c);
  }
  EXPECT_EQ(Open(tracker, b, 9, 4), OpenIs::kOfThisPass);
  EXPECT_FALSE(tracker.Delivered(b, 0, 5, 10));
  EXPECT_TRUE(tracker.IsReadAgain(b));
  EXPECT_TRUE(tracker.Delivered(b, 5, 10, 10));
  EXPECT_FALSE(tracker.IsReadAgain(b));
  tracker.Close(b);
  EXPECT_EQ(Open(tracker, a, 9, 4), OpenIs::kOfThisPass) << "c was not read";
  tracker.Close(a);
  EXPECT_TRUE(tracker.Delivered(c, 0, 10, 10))
      << "its descriptor is still open";
  EXPECT_EQ(Open(tracker, c, 9, 4), OpenIs::kUnclear);
  tracker.Close(c);
  EXPECT_EQ(Open(tracker, d, 9, 4), OpenIs::kTheNextPass);
  tracker.GoOnFrom({});
  EXPECT_EQ(tracker.complete(), 0u);
  EXPECT_EQ(tracker.ranges(), 0u);
  EXPECT_EQ(Open(tracker, d, 9, 4), OpenIs::kOfThisPass);
}

TEST(PassTrackerTest, AFileThatWasNeverOpenedDoesNotBeginAPass) {
  PassTracker tracker;
  tracker.Delivered(EntryId(1), 0, 10, 10);  // through a mapping, say
  EXPECT_EQ(Open(tracker, EntryId(1), 9, 1), OpenIs::kOfThisPass);
  tracker.Close(EntryId(1));
  EXPECT_EQ(Open(tracker, EntryId(1), 9, 1), OpenIs::kTheNextPass);
}

// The workers of one loader, each of which reads the whole file.
class PassOfWorkersTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kLoader = 50;

  OpenIs Open(EntryId file, uint32_t process, uint64_t files = 1,
              uint64_t start = 1000) {
    const OpenIs is =
        tracker_.Open(file, {process, process, kLoader, start}, files,
                      [&](uint32_t each) { return gone_.contains(each); });
    if (is == OpenIs::kOfThisPass) tracker_.Close(file);
    return is;
  }

  PassTracker tracker_;
  std::set<uint32_t> gone_;
  const EntryId a_{3};
  const EntryId b_{9};
};

TEST_F(PassOfWorkersTest, ASlowOneIsOfThePassInWhichTheOthersLive) {
  EXPECT_EQ(Open(a_, 51), OpenIs::kOfThisPass);
  tracker_.Delivered(a_, 0, 10, 10);
  EXPECT_EQ(Open(a_, 52), OpenIs::kOfThisPass);
  gone_ = {51};
  EXPECT_EQ(Open(a_, 53), OpenIs::kOfThisPass);
  gone_ = {51, 52, 53};
  EXPECT_EQ(Open(a_, 61), OpenIs::kTheNextPass) << "one of the next workers";
}

TEST_F(PassOfWorkersTest, OneThatBeganBeforeThePassEndedIsOfIt) {
  EXPECT_EQ(Open(a_, 51), OpenIs::kOfThisPass);
  tracker_.Delivered(a_, 0, 10, 10, /*now=*/2000);
  gone_ = {51};
  EXPECT_EQ(Open(a_, 52, 1, /*start=*/1999), OpenIs::kOfThisPass);
  gone_ = {51, 52};
  EXPECT_EQ(Open(a_, 53, 1, /*start=*/2000), OpenIs::kTheNextPass);
}

TEST_F(PassOfWorkersTest, OneThatComesAgainBeginsTheNextPass) {
  EXPECT_EQ(Open(a_, 51), OpenIs::kOfThisPass);
  EXPECT_EQ(Open(a_, 52), OpenIs::kOfThisPass);
  tracker_.Delivered(a_, 0, 10, 10);
  EXPECT_EQ(Open(a_, 51), OpenIs::kTheNextPass);
}

TEST_F(PassOfWorkersTest, TheLoaderItselfKeepsNoPassOpen) {
  EXPECT_EQ(Open(a_, kLoader), OpenIs::kOfThisPass);
  tracker_.Delivered(a_, 0, 10, 10);
  EXPECT_EQ(Open(a_, 51), OpenIs::kTheNextPass);
}

TEST_F(PassOfWorkersTest, WorkersThatShareOutTheFilesMayChangeThem) {
  EXPECT_EQ(Open(a_, 51, 2), OpenIs::kOfThisPass);
  EXPECT_EQ(Open(b_, 52, 2), OpenIs::kOfThisPass);
  tracker_.Delivered(a_, 0, 10, 10);
  tracker_.Delivered(b_, 0, 10, 10);
  EXPECT_EQ(Open(b_, 51, 2), OpenIs::kTheNextPass);
}

TEST_F(PassOfWorkersTest, WorkersThatAllReadAllFilesMayBeApart) {
  EXPECT_EQ(Open(a_, 52, 2), OpenIs::kOfThisPass);
  EXPECT_EQ(Open(a_, 51, 2), OpenIs::kOfThisPass);
  EXPECT_EQ(Open(b_, 51, 2), OpenIs::kOfThisPass);
  tracker_.Delivered(a_, 0, 10, 10);
  tracker_.Delivered(b_, 0, 10, 10);
  EXPECT_EQ(Open(b_, 52, 2), OpenIs::kOfThisPass) << "it is slower";
  EXPECT_EQ(Open(a_, 52, 2), OpenIs::kTheNextPass);
}

TEST_F(PassOfWorkersTest, ProcessesThatEndedAreForgotten) {
  // More than are remembered. The file is never complete.
  constexpr uint32_t kFirst = 100;
  constexpr uint32_t kLast = 200000;
  for (uint32_t process = kFirst; process <= kLast; ++process) {
    gone_.insert(process - 1);
    EXPECT_EQ(Open(a_, process), OpenIs::kOfThisPass);
  }
  tracker_.Delivered(a_, 0, 10, 10);
  EXPECT_EQ(Open(a_, kLast + 1), OpenIs::kOfThisPass) << "the last one lives";
  EXPECT_EQ(Open(a_, kLast), OpenIs::kTheNextPass) << "it is remembered";
}

TEST_F(PassOfWorkersTest, ManyThatLiveTakeBoundedTime) {
  for (uint32_t process = 100; process < 200000; ++process) {
    EXPECT_EQ(Open(a_, process), OpenIs::kOfThisPass);
  }
  tracker_.Delivered(a_, 0, 10, 10);
  EXPECT_EQ(Open(a_, 100), OpenIs::kTheNextPass) << "the first are remembered";
}

}  // namespace
}  // namespace shufflefs
