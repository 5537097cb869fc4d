// SPDX-License-Identifier: Apache-2.0
// Where pieces are cut, and what comes of the parts.
#include "core/staging/stager/tier_cuts.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/staging/tier/tier_fixture.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing_support::SetPlan;

constexpr uint64_t kP = kTierPage;

// One file of 100 pages; all numbers are pages.
class TierCutsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    packed_ = testing_support::TreeOf({100 * kP});
    store_ = std::make_unique<TierStore>(packed_->catalogue);
    auto arena = Arena::Make(uint64_t{2} << 20);
    ASSERT_TRUE(arena.ok());
    batches_ = std::make_unique<TierBatches>(*std::move(arena), [](FilePiece) {
      ADD_FAILURE() << "nothing is read again";
    });
    batches_->Open(0, batches_->batch_bytes());
  }
  static StagedRange Range(uint64_t from, uint64_t to) {
    return {EntryId(0), from * kP, (to - from) * kP};
  }
  void Staged(uint64_t from, uint64_t to) {
    TierTable table;
    table.state = packed_->catalogue->state();
    table.ranges = {{Range(from, to), 0}};
    table.checks.resize(TierChecksOf(table.ranges[0].range.length));
    store_->Add(StagedPart::Of(++parts_, 1 << 20, table, *packed_->catalogue));
  }
  void Coming(uint64_t from, uint64_t to) {
    TierBatches::Place place;
    ASSERT_EQ(batches_->Reserve(0, Range(from, to), place),
              TierBatches::Reserved::kYes);
  }
  void Wanted(const std::vector<StagedRange>& ranges) {
    SetPlan plan;
    plan.Put(1, ranges);
    requests_ = std::make_unique<StagingRequests>(
        *packed_->catalogue, plan, std::vector<uint64_t>{1}, nullptr);
  }
  std::vector<uint64_t> Cuts(uint64_t from, uint64_t to) {
    FilePiece piece;
    piece.offset = from * kP;
    piece.length = (to - from) * kP;
    std::vector<uint64_t> cuts;
    for (const uint64_t cut :
         CutsOf(piece, *batches_, *store_, requests_.get())) {
      EXPECT_EQ(cut % kP, 0u);
      cuts.push_back(cut / kP);
    }
    return cuts;
  }

  std::unique_ptr<testing_support::PackedTree> packed_;
  std::unique_ptr<TierStore> store_;
  std::unique_ptr<TierBatches> batches_;
  std::unique_ptr<StagingRequests> requests_;
  uint64_t parts_ = 0;
};

TEST_F(TierCutsTest, WhatIsAllOfTheSourceStaysOne) {
  EXPECT_THAT(Cuts(0, 100), IsEmpty());
  Wanted({Range(3, 5), Range(4, 9), Range(20, 30)});
  EXPECT_THAT(Cuts(0, 100), IsEmpty());
  Staged(50, 60);
  EXPECT_THAT(Cuts(0, 50), IsEmpty());
  EXPECT_THAT(Cuts(60, 100), IsEmpty());
}

TEST_F(TierCutsTest, CutsWhereAnotherHasTheBytes) {
  Staged(10, 20);
  Staged(20, 25);
  Coming(30, 40);
  EXPECT_THAT(Cuts(0, 100), ElementsAre(10, 20, 25, 30, 40));
  EXPECT_THAT(Cuts(12, 18), IsEmpty());
  EXPECT_THAT(Cuts(15, 35), ElementsAre(20, 25, 30));
  // What the tier has is not cut for a request.
  Wanted({Range(10, 20), Range(12, 14), Range(30, 40), Range(41, 43)});
  EXPECT_THAT(Cuts(0, 100), ElementsAre(10, 20, 25, 30, 40));
}

TEST_F(TierCutsTest, OfASharedPageTheOneThatReachesFurther) {
  Staged(10, 20);
  Coming(19, 30);
  EXPECT_THAT(Cuts(10, 30), ElementsAre(20));
  EXPECT_THAT(Cuts(19, 30), IsEmpty());
  EXPECT_THAT(Cuts(19, 31), ElementsAre(30));
}

TEST_F(TierCutsTest, AWantedRangeThatIsNowhereComesAsAWhole) {
  Staged(10, 20);
  Coming(29, 40);
  Wanted({Range(19, 30)});
  EXPECT_THAT(Cuts(19, 30), IsEmpty());
  EXPECT_THAT(Cuts(10, 40), ElementsAre(19, 30));
  EXPECT_THAT(Cuts(5, 40), ElementsAre(10, 19, 30));
  // Not all of it is in the piece: nothing could be kept.
  EXPECT_THAT(Cuts(20, 40), ElementsAre(29));
  EXPECT_THAT(Cuts(10, 29), ElementsAre(20));
}

TEST_F(TierCutsTest, PartsHaveTheirMemoryAndOneEnd) {
  std::vector<char> memory(6 * kP);
  int calls = 0;
  absl::Status status;
  FilePiece piece;
  piece.file = EntryId(7);
  piece.offset = 2 * kP;
  piece.length = 5 * kP + 5;
  piece.into = {{memory.data(), 3 * kP}, {memory.data() + 3 * kP, 3 * kP}};
  piece.done = [&](absl::Status ended) {
    ++calls;
    status = std::move(ended);
  };
  const std::vector<FilePiece> parts =
      CutPiece(std::move(piece), {3 * kP, 6 * kP});
  ASSERT_EQ(parts.size(), 3u);
  const uint64_t lengths[] = {kP, 3 * kP, kP + 5};
  const uint64_t rooms[] = {kP, 3 * kP, 2 * kP};
  uint64_t at = 0;
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(parts[i].file, EntryId(7));
    EXPECT_EQ(parts[i].offset, 2 * kP + at);
    EXPECT_EQ(parts[i].length, lengths[i]);
    uint64_t room = 0;
    for (const iovec& run : parts[i].into) {
      EXPECT_EQ(run.iov_base, memory.data() + at + room);
      EXPECT_GT(run.iov_len, 0u);
      room += run.iov_len;
    }
    EXPECT_EQ(room, rooms[i]);
    at += parts[i].length;
  }
  parts[1].done(absl::OkStatus());
  parts[2].done(absl::DataLossError("first"));
  EXPECT_EQ(calls, 0);
  parts[0].done(absl::InternalError("second"));
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(status, absl::DataLossError("first"));
}

}  // namespace
}  // namespace shufflefs
