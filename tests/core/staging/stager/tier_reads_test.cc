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
#include "tests/core/staging/tier/tier_fixture.h"

namespace shufflefs {
namespace {

using testing_support::Asked;
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

}  // namespace
}  // namespace shufflefs
