// SPDX-License-Identifier: Apache-2.0
// What copying says of its end: a tier is full when there is no room in it, and
// not when readers were first to use what is being copied with.
#include "core/staging/stager/tier_copy.h"

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/staging/tier/tier_fixture.h"

namespace shufflefs {
namespace {

using testing_support::Asked;
using testing_support::RandomBytes;
using testing_support::TierFixture;
using Outcome = TierCopy::Outcome;

constexpr size_t kRanges = 12;
constexpr size_t kInBatch = 4;

// With memory for so many batches.
class TierCopyTest : public TierFixture,
                     public testing::WithParamInterface<int> {
 protected:
  const uint64_t memory_ =
      GetParam() == 2 ? kMemory
                      : TierBatches::kMostBatches * TierBatches::kLeastOfMany;
  const uint64_t range_ =
      memory_ / static_cast<uint64_t>(GetParam()) / kInBatch;

  void SetUp() override {
    Rng rng{RandomKey(1)};
    tree_.File("container", RandomBytes(rng, kRanges * range_));
    Scan();
    for (size_t i = 0; i < kRanges; ++i) {
      ranges_.push_back({files_[0], i * range_, range_});
    }
    plan_->Put(1, ranges_);
  }
  // Copies all ranges into an empty directory. `looks` is called before each
  // step, when a batch is open.
  Outcome Copy(uint64_t capacity, std::function<void()> looks) {
    reads_ =
        TierReads::Make(std::make_unique<FileSource>(catalogue_, reader_.get()),
                        catalogue_, *Arena::Make(memory_), place_.root());
    EXPECT_EQ(reads_->batches().count(), GetParam());
    const std::vector<uint64_t> wanted = {1};
    reads_->SetRequests(std::make_shared<const StagingRequests>(
        *catalogue_, *plan_, wanted, nullptr));
    TierRanges ranges(*catalogue_);
    for (const StagedRange& range : ranges_) ranges.Append(range);
    auto dir = TierDir::Open(place_.root(), "train");
    EXPECT_TRUE(dir.ok()) << dir.status();
    TierCopy::Options options;
    options.capacity = capacity;
    options.foreground_reads = [looks = std::move(looks)] {
      looks();
      return uint64_t{0};
    };
    options.interrupted = [] { return false; };
    TierCopy copy(reads_, std::move(options));
    const auto outcome = copy.Copy(*dir, ranges, /*ahead=*/false);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_EQ(copy.copied_bytes() + copy.captured_bytes(), Staged() * range_);
    captured_ = copy.captured_bytes();
    return *outcome;
  }
  // A reader wants a bit of each of these.
  void Demand(size_t from, size_t to) {
    std::vector<FilePiece> pieces;
    for (size_t i = from; i < to; ++i) {
      Asked& asked =
          asked_.emplace_back(files_[0], i * range_ + kTierPage, 100);
      pieces.push_back(asked.Piece());
    }
    reads_->Fetch(std::move(pieces), /*urgent=*/false);
  }
  size_t Staged() const {
    size_t staged = 0;
    for (const StagedRange& range : ranges_) {
      staged += reads_->store().Has(range) ? 1 : 0;
    }
    return staged;
  }

  std::shared_ptr<TierReads> reads_;
  std::vector<StagedRange> ranges_;
  uint64_t captured_ = 0;
};

// Readers fill the batch before anything was reserved in it, with what comes
// first or last in the set.
TEST_P(TierCopyTest, ABatchThatReadersFilledIsNoFullTier) {
  for (const size_t first : {size_t{0}, kRanges - kInBatch}) {
    SCOPED_TRACE(first);
    int looks = 0;
    EXPECT_EQ(Copy(uint64_t{1} << 30,
                   [&] {
                     if (looks++ == 0) Demand(first, first + kInBatch);
                   }),
              Outcome::kDone);
    EXPECT_EQ(Staged(), kRanges);
    EXPECT_EQ(captured_, kInBatch * range_);
    ExpectAllRight();
  }
}

TEST_P(TierCopyTest, WheneverReadersComeAllIsCopied) {
  bool came = true;
  for (int when = 0; came; ++when) {
    SCOPED_TRACE(when);
    int looks = 0;
    came = false;
    EXPECT_EQ(Copy(uint64_t{1} << 30,
                   [&] {
                     if (looks++ != when) return;
                     came = true;
                     Demand(0, kRanges);
                   }),
              Outcome::kDone);
    EXPECT_EQ(Staged(), kRanges);
    ExpectAllRight();
  }
}

TEST_P(TierCopyTest, ATierWithoutRoomIsFull) {
  const uint64_t room = 5 * range_ + range_ / 2;
  EXPECT_EQ(Copy(room, [] {}), Outcome::kFull);
  EXPECT_EQ(Staged(), 5u);
  // Nor do readers make any.
  int looks = 0;
  EXPECT_EQ(Copy(room,
                 [&] {
                   if (looks++ == 0) Demand(kRanges - 2, kRanges);
                 }),
            Outcome::kFull);
  EXPECT_EQ(Staged(), 5u);
  EXPECT_EQ(captured_, 2 * range_);
  ExpectAllRight();
}

INSTANTIATE_TEST_SUITE_P(Batches, TierCopyTest,
                         testing::Values(2, TierBatches::kMostBatches));

}  // namespace
}  // namespace shufflefs
