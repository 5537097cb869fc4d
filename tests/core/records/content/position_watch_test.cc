// SPDX-License-Identifier: Apache-2.0
#include "core/records/content/position_watch.h"

#include <algorithm>

#include "gtest/gtest.h"

namespace shufflefs {
namespace {

using Pass = PositionWatch::Pass;

constexpr uint32_t kProcess = 7;
constexpr uint64_t kStep = 128 << 10;

// As the kernel asks while it reads ahead: small steps first.
void ReadForward(PositionWatch& watch, EntryId file, uint64_t begin,
                 uint64_t end) {
  uint64_t step = 16 << 10;
  while (begin < end) {
    EXPECT_FALSE(watch.Wanted(file, begin, begin + step)) << begin;
    begin += step;
    step = std::min(2 * step, kStep);
  }
}

TEST(PositionWatchTest, WholeReadersKeepNone) {
  PositionWatch watch;
  const EntryId file(3);
  for (uint32_t process = 1; process < 40; ++process) {
    watch.Opened(file, process);
    if (process == 1) ReadForward(watch, file, 0, 50 * kStep);
    // Later ones find a part of it in memory.
    if (process > 1) ReadForward(watch, file, process * kStep, 50 * kStep);
    EXPECT_FALSE(watch.OpensPieces(file, process, Pass::kNew));
  }
}

TEST(PositionWatchTest, StepsOfReadingAheadMayChangePlaces) {
  PositionWatch watch;
  const EntryId file(3);
  watch.Opened(file, kProcess);
  EXPECT_FALSE(watch.Wanted(file, kStep, 2 * kStep));
  EXPECT_FALSE(watch.Wanted(file, 0, kStep));
  for (uint64_t at = 2; at < 40; at += 2) {
    EXPECT_FALSE(watch.Wanted(file, (at + 1) * kStep, (at + 2) * kStep));
    EXPECT_FALSE(watch.Wanted(file, at * kStep, (at + 1) * kStep));
  }
}

TEST(PositionWatchTest, TheEndOfASmallFileMayComeFirst) {
  PositionWatch watch;
  const EntryId file(3);
  watch.Opened(file, kProcess);
  EXPECT_FALSE(watch.Wanted(file, 100 << 10, 101 << 10));
  EXPECT_FALSE(watch.Wanted(file, 0, 100 << 10));
}

// The kernel has the first 256 KiB from an earlier open. A step of 1 MiB is on
// its way, and the rest of the file is taken before it.
TEST(PositionWatchTest, TheLastStepMayComeBeforeALargeOne) {
  PositionWatch watch;
  const EntryId file(3);
  watch.Opened(file, kProcess);
  ReadForward(watch, file, 0, 256 << 10);
  watch.Opened(file, kProcess);
  EXPECT_TRUE(watch.Wanted(file, 1280 << 10, 1496 << 10));
  EXPECT_TRUE(watch.MayBeLastStep(file, 1280 << 10));
  EXPECT_FALSE(watch.MayBeLastStep(file, 64 << 20));
}

TEST(PositionWatchTest, AFirstReadInTheMiddleIsOfAPosition) {
  PositionWatch watch;
  const EntryId file(3);
  watch.Opened(file, kProcess);
  EXPECT_TRUE(watch.Wanted(file, 300 << 10, 316 << 10));
}

// A reader of several columns, or a parallel one, jumps about in one open.
TEST(PositionWatchTest, WhoBeganAtTheStartMayJump) {
  PositionWatch watch;
  const EntryId file(3);
  watch.Opened(file, kProcess);
  EXPECT_FALSE(watch.Wanted(file, 0, 4096));
  EXPECT_FALSE(watch.Wanted(file, 100 * kStep, 101 * kStep));
  EXPECT_FALSE(watch.OpensPieces(file, kProcess, Pass::kNew));
}

TEST(PositionWatchTest, ManyOpensThatBringAPieceEachAreOfPositions) {
  PositionWatch watch;
  const EntryId file(3);
  for (uint64_t piece = 0; piece < 5; ++piece) {
    EXPECT_FALSE(watch.OpensPieces(file, kProcess, Pass::kAny)) << piece;
    EXPECT_EQ(watch.OpensPieces(file, kProcess, Pass::kNew), piece >= 2);
    watch.Opened(file, kProcess);
    EXPECT_FALSE(watch.Wanted(file, piece * kStep, (piece + 1) * kStep));
  }
  EXPECT_TRUE(watch.OpensPieces(file, kProcess, Pass::kAny));
  EXPECT_FALSE(watch.OpensPieces(file, kProcess + 1, Pass::kAny));
  EXPECT_FALSE(watch.OpensPieces(file, 0, Pass::kAny)) << "hidden";
}

// A job that breaks off reads the same beginning again, from memory.
TEST(PositionWatchTest, WhoBreaksOffKeepsNone) {
  PositionWatch watch;
  const EntryId file(3);
  watch.Opened(file, kProcess);
  ReadForward(watch, file, 0, 10 * kStep);
  for (int pass = 0; pass < 20; ++pass) watch.Opened(file, kProcess);
  EXPECT_FALSE(watch.OpensPieces(file, kProcess, Pass::kAny));
}

}  // namespace
}  // namespace shufflefs
