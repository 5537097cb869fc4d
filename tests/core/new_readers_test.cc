// SPDX-License-Identifier: Apache-2.0
#include "core/clairvoyant/new_readers.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/random.h"
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

TEST(NewReadersTest, WorkersOfTheNextEpochTakeOver) {
  Rng rng = Rng(RandomKey(1));
  NewReaders readers;
  EXPECT_EQ(TakenOver(readers, OpensBy(0, 4, 500, rng)), 0u) << "the first";
  EXPECT_EQ(TakenOver(readers, OpensBy(100, 2, 500, rng)), 24u);
  EXPECT_EQ(TakenOver(readers, OpensBy(200, 8, 500, rng)), 64u);
}

TEST(NewReadersTest, TheirOpensAreGivenFromTheFirstOn) {
  NewReaders readers;
  readers.Note({7, 1});
  std::vector<EpochOpens::Open> taken;
  for (uint32_t i = 0; taken.empty(); ++i) taken = readers.Note({i, 2 + i % 3});
  ASSERT_EQ(taken.size(), 24u);
  for (uint32_t i = 0; i < taken.size(); ++i) {
    EXPECT_EQ(taken[i].index, i);
    EXPECT_EQ(taken[i].thread, 2 + i % 3);
  }
}

TEST(NewReadersTest, MoreThreadsBesideTheOthersTakeNothingOver) {
  Rng rng = Rng(RandomKey(2));
  NewReaders readers;
  EXPECT_EQ(TakenOver(readers, OpensBy(0, 2, 100, rng)), 0u);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(TakenOver(readers, OpensBy(0, 4 + 2 * i, 100, rng)), 0u);
  }
}

TEST(NewReadersTest, AThreadForEachFileTakesNothingOver) {
  NewReaders readers;
  for (uint64_t thread = 0; thread < 100000; ++thread) {
    EXPECT_TRUE(readers.Note({0, thread}).empty());
  }
}

TEST(NewReadersTest, WhoBeganAnEpochIsNotNew) {
  Rng rng = Rng(RandomKey(3));
  NewReaders readers;
  EXPECT_EQ(TakenOver(readers, OpensBy(0, 2, 100, rng)), 0u);
  readers.Begin(OpensBy(50, 3, 8, rng));
  EXPECT_EQ(TakenOver(readers, OpensBy(50, 3, 500, rng)), 0u);
  EXPECT_EQ(TakenOver(readers, OpensBy(0, 2, 500, rng)), 24u);
}

}  // namespace
}  // namespace shufflefs
