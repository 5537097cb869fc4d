// SPDX-License-Identifier: Apache-2.0
// A tier that copies while others read the source: it holds back, as its pace
// says, and goes on when they are quiet. By a clock that the test turns.
#include <atomic>
#include <chrono>
#include <vector>

#include "core/staging/stager/tier_pace.h"
#include "gtest/gtest.h"
#include "tests/core/staging/tier/tier_fixture.h"

namespace shufflefs {
namespace {

using std::chrono::milliseconds;
using testing_support::RandomBytes;
using testing_support::TierFixture;

constexpr uint64_t kRange = uint64_t{256} << 10;
constexpr size_t kRanges = 24;
constexpr size_t kGentle = TierPace::kGentleBytes / kRange;  // ranges a step
constexpr char kCopied[] = "container";

class TierYieldTest : public TierFixture {
 protected:
  void SetUp() override {
    Rng rng{RandomKey(1)};
    tree_.File(kCopied, RandomBytes(rng, kRanges * kRange));
    tree_.File("first", RandomBytes(rng, 9000));
    tree_.File("other", RandomBytes(rng, 9000));
    Scan();
    options_ = Options();
    options_.memory_bytes = 4 * kRanges * kRange;  // a batch holds all of it
    options_.now = [this] { return TierPace::Time(milliseconds(now_.load())); };
    // Whoever looks sees that another one came while somebody reads.
    options_.foreground_reads = [this] {
      looks_.fetch_add(1);
      return busy_.load() ? reads_.fetch_add(1) + 1 : reads_.load();
    };
    for (size_t i = 0; i < kRanges; ++i) {
      container_.push_back(
          {*catalogue_->FindPath(kCopied), i * kRange, kRange});
    }
    plan_->Put(1, Whole({*catalogue_->FindPath("first")}));
    plan_->Put(2, container_);
    reader_->Hold(kCopied);
  }
  // Reads of the container that are there, but nobody was told so.
  size_t held() const { return reader_->waiting(kCopied); }
  void WaitHeld(size_t reads) {
    Until([&] { return held() >= reads; });
    EXPECT_EQ(held(), reads);
  }
  // Lets those arrive that are held, and holds what comes then.
  void LetArrive() {
    reader_->Release(kCopied);
    reader_->Hold(kCopied);
  }
  // The copying thread looked whether it may go on, and again.
  void WaitLooks() {
    const uint64_t before = looks_.load();
    Until([&] { return looks_.load() >= before + 3; });
  }
  void ExpectRests() {
    WaitLooks();
    EXPECT_EQ(held(), 0u);
  }

  Tier::Options options_;
  std::vector<StagedRange> container_;
  std::atomic<int64_t> now_{1'000'000};  // ms
  std::atomic<bool> busy_{true};
  std::atomic<uint64_t> looks_{0};
  std::atomic<uint64_t> reads_{0};
};

TEST_F(TierYieldTest, CopyingAheadRestsBetweenSmallSteps) {
  plan_->Want({1, 2});
  Open(options_);
  for (size_t step = 0; step < 3; ++step) {
    SCOPED_TRACE(step);
    WaitHeld(kGentle);
    constexpr int64_t kTook = 8;
    now_ += kTook;
    LetArrive();
    ExpectRests();
    // Readers of the source are served meanwhile.
    ReadAll({*catalogue_->FindPath("other")});
    now_ += kTook * TierPace::kRest - 1;
    ExpectRests();
    now_ += 1;
  }
  // As soon as nobody reads, all that is left comes at once.
  WaitHeld(kGentle);
  busy_ = false;
  now_ += TierPace::kQuiet.count();
  LetArrive();
  WaitHeld(kRanges - 4 * kGentle);
  reader_->Release(kCopied);
  plan_->WaitReady(2);
  EXPECT_EQ(tier_->status().copied_bytes, 9000 + kRanges * kRange);
  ReadAll(files_);
}

TEST_F(TierYieldTest, WhatIsReadNowIsCopiedWithoutARest) {
  plan_->Want({2});
  Open(options_);
  WaitHeld(kRanges);
  reader_->Release(kCopied);
  plan_->WaitReady(2);  // the clock stood still
  ReadAll(files_);
}

TEST_F(TierYieldTest, NobodyReadsButTheBandwidthHolds) {
  options_.bandwidth = 8 * 2 * kRange;  // two ranges in an eighth of a second
  busy_ = false;
  plan_->Want({2});
  Open(options_);
  for (size_t begun = 0; begun < kRanges; begun += 2) {
    SCOPED_TRACE(begun);
    WaitHeld(2);
    LetArrive();
    now_ += 124;
    ExpectRests();
    EXPECT_EQ(tier_->status().copied_bytes, 0u);
    now_ += 1;  // the next two, and at the end writing
  }
  plan_->WaitReady(2);
  ReadAll({*catalogue_->FindPath(kCopied)});
}

}  // namespace
}  // namespace shufflefs
