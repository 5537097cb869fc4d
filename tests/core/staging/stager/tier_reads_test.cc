// SPDX-License-Identifier: Apache-2.0
// What is kept of a piece on its way to a reader, if no batch had room for it
// when it was asked for.
#include "core/staging/stager/tier_reads.h"

#include <errno.h>

#include <memory>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "gtest/gtest.h"
#include "tests/core/io/held_reader.h"
#include "tests/core/staging/tier/tier_fixture.h"

namespace shufflefs {
namespace {

using testing_support::Asked;
using testing_support::HeldReader;
using testing_support::RandomBytes;
using testing_support::TierFixture;

class TierReadsTest : public TierFixture {
 protected:
  void SetUp() override {
    Rng rng{RandomKey(1)};
    tree_.File("container", RandomBytes(rng, 60 * kTierPage));
    Scan();
    container_ = *catalogue_->FindPath("container");
    // The one ends inside the piece that is asked for, the other behind it.
    plan_->Put(1, {Pages(20, 30), Pages(35, 45)});
    reads_ =
        TierReads::Make(std::make_unique<FileSource>(catalogue_, reader_.get()),
                        catalogue_, *Arena::Make(kMemory), place_.root());
    const std::vector<uint64_t> wanted = {1};
    reads_->SetRequests(std::make_shared<const StagingRequests>(
        *catalogue_, *plan_, wanted, nullptr));
  }
  StagedRange Pages(uint64_t from, uint64_t to) const {
    return {container_, from * kTierPage, (to - from) * kTierPage};
  }
  void AskPages(uint64_t from, uint64_t to) {
    const StagedRange range = Pages(from, to);
    std::vector<FilePiece> pieces;
    pieces.push_back(
        asked_.emplace_back(range.file, range.from, range.length).Piece());
    reads_->Fetch(std::move(pieces), /*urgent=*/false);
  }
  // A batch without room, which gets some before the bytes are there.
  void AskAndMakeRoom() {
    reads_->batches().Open(0, 0);
    reader_->Hold("container");
    AskPages(10, 40);
    Until([&] { return reader_->waiting("container") > 0; });
    reads_->batches().Open(0, reads_->batches().batch_bytes());
    reader_->Release("container");
  }

  EntryId container_;
  std::shared_ptr<TierReads> reads_;
};

TEST_F(TierReadsTest, RangesInsideAPieceAreKeptWithTheirOwnBytes) {
  AskAndMakeRoom();
  ExpectAllRight();
  const uint64_t before = reader_->stats().reads;
  AskPages(20, 30);
  ExpectAllRight();
  EXPECT_EQ(reader_->stats().reads, before);
  AskPages(35, 45);
  ExpectAllRight();
  EXPECT_GT(reader_->stats().reads, before);
}

TEST_F(TierReadsTest, WhatCouldNotBeReadIsNotKept) {
  reader_->Fail("container", EIO, 1);
  AskAndMakeRoom();
  EXPECT_EQ(ErrnoOf(asked_.front().Wait()), EIO);
  asked_.clear();
  const uint64_t before = reader_->stats().reads;
  AskPages(20, 30);
  ExpectAllRight();
  EXPECT_GT(reader_->stats().reads, before);
}

// A file that one part has, which a reader in the test's hands reads. A piece
// that is no whole check of it is read with all of its checks.
class WiderReadsTest : public TierFixture {
 protected:
  static constexpr uint64_t kChecks = 64;
  // Reads that are widened have no more memory.
  static constexpr uint64_t kMost = uint64_t{5} << 19;

  void SetUp() override {
    Rng rng{RandomKey(1)};
    const std::string bytes = RandomBytes(rng, kChecks * kTierCheckBytes);
    tree_.File("file", bytes);
    Scan();
    file_ = *catalogue_->FindPath("file");
    place_.File(TierPartName(1), bytes);
    TierTable table;
    table.state = catalogue_->state();
    table.ranges.push_back({{file_, 0, bytes.size()}, 0});
    AppendTierChecks(bytes, table.checks);
    reads_ =
        TierReads::Make(std::make_unique<FileSource>(catalogue_, reader_.get()),
                        catalogue_, *Arena::Make(kMemory), place_.root());
    auto part = StagedPart::Of(1, bytes.size(), table, *catalogue_);
    ASSERT_NE(part, nullptr);
    reads_->store().Add(std::move(part));
    tier_dir_ = std::make_unique<SourceDir>(place_.Source());
    tier_reader_ = std::make_unique<HeldReader>(*tier_dir_);
    reads_->Attach(tier_reader_.get());
  }
  void AskFor(uint64_t offset, uint64_t length) {
    std::vector<FilePiece> pieces;
    pieces.push_back(asked_.emplace_back(file_, offset, length).Piece());
    reads_->Fetch(std::move(pieces), /*urgent=*/false);
  }
  // The second page of each check.
  void AskAPageOfEach() {
    for (uint64_t i = 0; i < kChecks; ++i) {
      AskFor(i * kTierCheckBytes + kTierPage, kTierPage);
    }
  }

  EntryId file_;
  std::shared_ptr<TierReads> reads_;
  std::unique_ptr<SourceDir> tier_dir_;
  std::unique_ptr<HeldReader> tier_reader_;
};

TEST_F(WiderReadsTest, TheirMemoryIsBoundedAndTheOthersWait) {
  AskAPageOfEach();
  EXPECT_LE(tier_reader_->most_in_flight, kMost);
  tier_reader_->CompleteAll();
  EXPECT_LE(tier_reader_->most_in_flight, kMost);
  ExpectAllRight();
  EXPECT_EQ(reader_->stats().reads, 0u) << "all is in the tier";
  // Whole checks need none.
  for (uint64_t i = 0; i < kChecks; ++i) {
    AskFor(i * kTierCheckBytes, kTierCheckBytes);
  }
  EXPECT_EQ(tier_reader_->held.size(), kChecks);
  tier_reader_->CompleteAll();
  ExpectAllRight();
}

TEST_F(WiderReadsTest, WhatWaitsIsReadFromTheSourceIfTheTierGoes) {
  AskAPageOfEach();
  const size_t begun = tier_reader_->held.size();
  EXPECT_LT(begun, kChecks);
  reads_->Detach();
  while (!tier_reader_->held.empty()) {
    tier_reader_->Complete(0, absl::CancelledError("it goes"));
  }
  ExpectAllRight();
  EXPECT_EQ(tier_reader_->stats().reads, begun);
}

TEST_F(WiderReadsTest, APieceThatNeedsMoreThanAllIsReadFromTheSource) {
  AskFor(kTierPage, kMost);
  EXPECT_TRUE(tier_reader_->held.empty());
  ExpectAllRight();
}

}  // namespace
}  // namespace shufflefs
