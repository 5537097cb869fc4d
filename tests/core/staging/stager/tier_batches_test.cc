// SPDX-License-Identifier: Apache-2.0
// What a batch gives room to lies in its memory, and in nothing else's.
#include "core/staging/stager/tier_batches.h"

#include <map>
#include <vector>

#include "core/random/random.h"
#include "core/staging/tier/tier_part.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

class TierBatchesTest : public testing::TestWithParam<uint64_t> {
 protected:
  TierBatchesTest()
      : batches_(*Arena::Make(GetParam()),
                 [](FilePiece) { ADD_FAILURE() << "nothing is read again"; }) {}

  StagedRange NextRange(Rng& rng) {
    return {EntryId(static_cast<uint32_t>(files_++)), 0,
            1 + rng.Bounded(batches_.batch_bytes() / 3)};
  }
  // What has room lies in the batch's memory, behind what had room before.
  void Took(int batch, const StagedRange& range,
            const TierBatches::Place& place) {
    const absl::Span<char> memory = batches_.memory(batch);
    ASSERT_GE(place.memory, memory.data() + used_[batch]);
    used_[batch] = static_cast<uint64_t>(place.memory - memory.data()) +
                   TierRoundUp(range.length);
    ASSERT_LE(used_[batch], memory.size());
    coming_[batch].push_back(place.slot);
  }
  void Empty(int batch) {
    for (const size_t slot : coming_[batch]) {
      batches_.Arrived(batch, slot, absl::OkStatus());
    }
    EXPECT_TRUE(batches_.Drained(batch, [] { return false; }));
    EXPECT_EQ(batches_.Shut(batch), used_[batch]);
    EXPECT_EQ(batches_.Close(batch).size(), coming_[batch].size());
    batches_.Release(batch);
    used_[batch] = 0;
    coming_[batch].clear();
  }

  TierBatches batches_;
  uint64_t files_ = 0;
  std::map<int, uint64_t> used_;
  std::map<int, std::vector<size_t>> coming_;
};

TEST_P(TierBatchesTest, NothingLiesOutsideOfItsBatch) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng{RandomKey(seed)};
    for (int step = 0; step < 400; ++step) {
      const int batch = static_cast<int>(rng.Bounded(batches_.count()));
      const StagedRange range = NextRange(rng);
      switch (rng.Bounded(5)) {
        case 0:  // with more room or less than was taken
          batches_.Open(batch, rng.Bounded(2 * batches_.batch_bytes()));
          break;
        case 1: {
          TierBatches::Place place;
          if (batches_.Reserve(batch, range, place) ==
              TierBatches::Reserved::kYes) {
            ASSERT_NO_FATAL_FAILURE(Took(batch, range, place));
          }
          break;
        }
        case 4:
          if (rng.Bounded(8) == 0) Empty(batch);
          break;
        default:
          if (const auto demanded = batches_.Demand(range)) {
            ASSERT_NO_FATAL_FAILURE(
                Took(demanded->batch, range, demanded->place));
          }
      }
    }
    for (int i = 0; i < batches_.count(); ++i) Empty(i);
  }
}

TEST_P(TierBatchesTest, WithLessRoomThanWasTakenNothingMoreIs) {
  Rng rng{RandomKey(1)};
  TierBatches::Place place;
  const StagedRange range = NextRange(rng);
  batches_.Open(0, batches_.batch_bytes());
  ASSERT_EQ(batches_.Reserve(0, range, place), TierBatches::Reserved::kYes);
  batches_.Open(0, 0);
  ASSERT_FALSE(batches_.Demand(NextRange(rng)));
  ASSERT_EQ(batches_.Reserve(0, NextRange(rng), place),
            TierBatches::Reserved::kFull);
  coming_[0].push_back(0);
  used_[0] = TierRoundUp(range.length);
  Empty(0);
}

INSTANTIATE_TEST_SUITE_P(
    Memory, TierBatchesTest,
    testing::Values(uint64_t{2} << 20,
                    TierBatches::kMostBatches* TierBatches::kLeastOfMany));

}  // namespace
}  // namespace shufflefs
