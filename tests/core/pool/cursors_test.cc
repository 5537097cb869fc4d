// SPDX-License-Identifier: Apache-2.0
// Cursors finds where readers are in a sequence, from what they read.
#include "core/pool/cursors.h"

#include <deque>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace shufflefs {
namespace {

constexpr uint64_t kSamples = 20000;
constexpr uint64_t kMost = 512;

// As ReadAhead does, of whose sequences this is the only one.
void NoteRead(Cursors& cursors, uint64_t position) {
  cursors.Tick();
  if (!cursors.Advance(position)) cursors.Missed(position);
}

// Counts how often each position was fetched, and before it was read.
class Follower {
 public:
  Follower() : cursors_(kSamples), fetched_(kSamples), in_time_(kSamples) {}

  void Read(uint64_t position) {
    in_time_[position] = fetched_[position] > 0;
    NoteRead(cursors_, position);
    while (const auto range = cursors_.Next(kMost)) {
      EXPECT_LT(range->begin, range->end);
      EXPECT_LE(range->end, kSamples);
      furthest_ = std::max(furthest_, range->end);
      for (uint64_t p = range->begin; p < range->end; ++p) ++fetched_[p];
    }
  }
  uint64_t fetched() const {
    uint64_t sum = 0;
    for (const int times : fetched_) sum += static_cast<uint64_t>(times);
    return sum;
  }
  uint64_t fetched_twice() const {
    uint64_t count = 0;
    for (const int times : fetched_) count += times > 1 ? 1 : 0;
    return count;
  }
  uint64_t late(uint64_t begin, uint64_t end) const {
    uint64_t count = 0;
    for (uint64_t p = begin; p < end; ++p) count += in_time_[p] ? 0 : 1;
    return count;
  }
  uint64_t furthest() const { return furthest_; }
  Cursors& cursors() { return cursors_; }

 private:
  Cursors cursors_;
  std::vector<int> fetched_;
  std::vector<bool> in_time_;
  uint64_t furthest_ = 0;
};

TEST(CursorsTest, AReaderOfTheSequenceFindsAllButItsFirstSamplesFetchedOnce) {
  Follower follower;
  for (uint64_t p = 0; p < kSamples; ++p) follower.Read(p);
  EXPECT_EQ(follower.late(0, 10), 4u);
  EXPECT_EQ(follower.late(10, kSamples), 0u);
  EXPECT_EQ(follower.fetched_twice(), 0u);
  EXPECT_EQ(follower.cursors().count(), 1u);
}

TEST(CursorsTest, IsNeverFurtherAheadThanAsked) {
  Follower follower;
  for (uint64_t p = 5000; p < 9000; ++p) {
    follower.Read(p);
    EXPECT_LE(follower.furthest(), p + 1 + kMost);
  }
  EXPECT_GT(follower.furthest(), 9000 + kMost / 4);
}

// Batches dealt to workers in turn, as a DataLoader does, whichever is faster.
TEST(CursorsTest, WorkersThatShareASequenceFindItFetchedOnce) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 20; ++round) {
    const uint64_t workers = 2 + random() % 7;
    const uint64_t batch = 16 + random() % 49;
    Follower follower;
    std::vector<std::deque<uint64_t>> left(workers);
    for (uint64_t p = 0; p < kSamples; ++p) {
      left[p / batch % workers].push_back(p);
    }
    for (uint64_t read = 0; read < kSamples;) {
      std::deque<uint64_t>& mine = left[random() % workers];
      // Batches are handed on in their order, two a worker wait.
      uint64_t oldest = kSamples;
      for (const auto& queue : left) {
        if (!queue.empty()) oldest = std::min(oldest, queue.front() / batch);
      }
      if (mine.empty() || mine.front() / batch >= oldest + 2 * workers) {
        continue;
      }
      follower.Read(mine.front());
      mine.pop_front();
      ++read;
    }
    const uint64_t start = workers * batch + kMost;
    EXPECT_LE(follower.late(start, kSamples), kSamples / 50) << workers;
    EXPECT_LE(follower.fetched_twice(), kSamples / 20);
  }
}

TEST(CursorsTest, ReadersAtTwoPlacesAreTwoCursors) {
  Follower follower;
  for (uint64_t i = 0; i < 4000; ++i) {
    follower.Read(i);
    follower.Read(10000 + i);
  }
  EXPECT_EQ(follower.cursors().count(), 2u);
  EXPECT_EQ(follower.late(10, 4000), 0u);
  EXPECT_EQ(follower.late(10010, 14000), 0u);
}

TEST(CursorsTest, ForWhoReadsAtRandomNothingIsFetched) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::vector<uint64_t> order(kSamples);
  for (uint64_t p = 0; p < kSamples; ++p) order[p] = p;
  for (uint64_t i = kSamples; i > 1; --i) {
    std::swap(order[i - 1], order[random() % i]);
  }
  Follower follower;
  for (const uint64_t position : order) follower.Read(position);
  EXPECT_LE(follower.fetched(), 100u);
}

TEST(CursorsTest, WhatWasTakenBackIsAskedForAgain) {
  Cursors cursors(kSamples);
  uint64_t next = 100;
  absl::optional<Cursors::Range> range;
  for (; !range; ++next) {
    NoteRead(cursors, next);
    range = cursors.Next(kMost);
  }
  EXPECT_EQ(range->begin, next);
  cursors.TakeBack(range->cursor, range->begin + 2);
  EXPECT_FALSE(cursors.Awaits(range->begin + 2));
  EXPECT_TRUE(cursors.Awaits(range->begin));
  const uint64_t from = range->begin + 2;
  for (range.reset(); !range && next < 200; ++next) {
    NoteRead(cursors, next);
    range = cursors.Next(kMost);
  }
  ASSERT_TRUE(range);
  EXPECT_EQ(range->begin, from);
}

TEST(CursorsTest, ACursorWhoseSamplesNobodyReadsGoes) {
  Cursors cursors(kSamples);
  for (uint64_t p = 0; p < 8; ++p) NoteRead(cursors, p);
  ASSERT_EQ(cursors.count(), 1u);
  // It passes by what it had fetched.
  for (uint64_t p = 8; p < 2000; p += 5) NoteRead(cursors, p);
  for (uint64_t p = 9; p < 1900 && cursors.count() > 0; ++p) cursors.Unread(p);
  EXPECT_EQ(cursors.count(), 0u);
}

TEST(CursorsTest, ACursorThatIsLongIdleGoes) {
  Cursors cursors(kSamples);
  for (uint64_t p = 0; p < 8; ++p) NoteRead(cursors, p);
  ASSERT_EQ(cursors.count(), 1u);
  for (uint64_t i = 0; i < 6000; ++i) cursors.Tick();
  EXPECT_EQ(cursors.count(), 0u);
}

}  // namespace
}  // namespace shufflefs
