// SPDX-License-Identifier: Apache-2.0
#include "core/sampler/new_readers.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/random/random.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

// Opens of so many threads, of which each comes once in a while.
std::vector<EpochOpens::Open> OpensBy(uint64_t first_thread, uint64_t threads,
                                      size_t opens, Rng& rng) {
  std::vector<EpochOpens::Open> out;
  for (size_t i = 0; i < opens; ++i) {
    out.push_back({static_cast<uint32_t>(i),
                   first_thread + (i < threads ? i : rng.Bounded(threads))});
  }
  return out;
}

// By how many opens the new threads were seen to have taken over; 0: not.
size_t TakenOver(NewReaders& readers,
                 const std::vector<EpochOpens::Open>& opens) {
  for (const EpochOpens::Open& open : opens) {
    const size_t taken = readers.Note(open).size();
    if (taken > 0) return taken;
  }
  return 0;
}

// Threads below `alive_` have ended.
class NewReadersTest : public testing::Test {
 protected:
  size_t TakenOver(const std::vector<EpochOpens::Open>& opens) {
    return shufflefs::TakenOver(readers_, opens);
  }
  uint64_t alive_ = 0;
  Rng rng_ = Rng(RandomKey(1));
  NewReaders readers_ =
      NewReaders([this](uint64_t thread) { return thread < alive_; });
};

TEST_F(NewReadersTest, WorkersOfTheNextEpochTakeOver) {
  EXPECT_EQ(TakenOver(OpensBy(0, 4, 500, rng_)), 0u) << "the first";
  alive_ = 100;
  EXPECT_EQ(TakenOver(OpensBy(100, 2, 500, rng_)), 16u);
  alive_ = 200;
  EXPECT_EQ(TakenOver(OpensBy(200, 8, 500, rng_)), 32u);
}

TEST_F(NewReadersTest, TheirOpensAreGivenFromTheFirstOn) {
  readers_.Note({7, 1});
  alive_ = 2;
  std::vector<EpochOpens::Open> taken;
  for (uint32_t i = 0; taken.empty(); ++i) {
    taken = readers_.Note({i, 2 + i % 3});
  }
  ASSERT_EQ(taken.size(), 16u);
  for (uint32_t i = 0; i < taken.size(); ++i) {
    EXPECT_EQ(taken[i].index, i);
    EXPECT_EQ(taken[i].thread, 2 + i % 3);
  }
}

TEST_F(NewReadersTest, AWorkerThatBeginsLateTakesNothingOver) {
  EXPECT_EQ(TakenOver(OpensBy(0, 2, 32, rng_)), 0u);
  EXPECT_EQ(TakenOver(OpensBy(2, 1, 1000, rng_)), 0u) << "they wait for it";
}

TEST_F(NewReadersTest, OnesThatWereLongInEndingAreSeenLater) {
  EXPECT_EQ(TakenOver(OpensBy(0, 2, 100, rng_)), 0u);
  EXPECT_EQ(TakenOver(OpensBy(10, 2, 20, rng_)), 0u);
  alive_ = 10;
  EXPECT_EQ(TakenOver(OpensBy(10, 2, 500, rng_)), 32u);
}

TEST_F(NewReadersTest, MoreThreadsBesideTheOthersTakeNothingOver) {
  EXPECT_EQ(TakenOver(OpensBy(0, 2, 100, rng_)), 0u);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(TakenOver(OpensBy(0, 4 + 2 * i, 100, rng_)), 0u);
  }
}

TEST_F(NewReadersTest, AThreadForEachFileTakesNothingOver) {
  for (alive_ = 0; alive_ < 100000; ++alive_) {
    EXPECT_TRUE(readers_.Note({0, alive_}).empty());
  }
}

TEST_F(NewReadersTest, WhoBeganAnEpochIsNotNew) {
  EXPECT_EQ(TakenOver(OpensBy(0, 2, 100, rng_)), 0u);
  alive_ = 50;
  readers_.Begin(OpensBy(50, 3, 8, rng_));
  EXPECT_EQ(TakenOver(OpensBy(50, 3, 500, rng_)), 0u);
  alive_ = 60;
  EXPECT_EQ(TakenOver(OpensBy(60, 2, 500, rng_)), 16u);
}

}  // namespace
}  // namespace shufflefs
