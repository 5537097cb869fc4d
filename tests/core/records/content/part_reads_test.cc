// SPDX-License-Identifier: Apache-2.0
#include "core/records/content/part_reads.h"

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "core/io/file_reader.h"
#include "core/random/random.h"
#include "gtest/gtest.h"
#include "tests/core/records/containers/record_fixture.h"
#include "tests/core/records/content/part_fixture.h"

namespace shufflefs {
namespace {

using testing_support::Apply;
using testing_support::Letters;
using testing_support::Piece;
using testing_support::RandomPlan;
using testing_support::WholePages;

TEST(PartReadsTest, ReadsBringEveryByteWhateverTheLimits) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng{RandomKey(seed)};
  const std::string file = Letters(700000, rng);
  for (int round = 0; round < 60; ++round) {
    const PartPlan plan = RandomPlan(file.size(), rng);
    PartReadLimits limits;
    limits.read_bytes = kReadAlignment * (1 + rng.Bounded(20));
    limits.gap_bytes = rng.Bounded(20000);
    std::string part = WholePages(std::string(plan.bytes, '?'));
    const IoBuf to({Piece(part)});
    uint64_t before = 0;
    for (const PartRead& read : PlanPartReads(plan, limits)) {
      EXPECT_EQ(read.offset % kReadAlignment, 0u);
      EXPECT_LE(read.length, limits.read_bytes);
      EXPECT_GE(read.offset + kReadAlignment, before);
      before = read.offset + read.length;
      ASSERT_LE(before, file.size());
      std::string bytes = WholePages(file.substr(read.offset, read.length));
      LayOut(plan, read, IoBuf({Piece(bytes)}), to);
    }
    part.resize(plan.bytes);
    ASSERT_EQ(part, Apply(plan, file)) << round;
  }
}

// As in a lone read across mini-epochs.
TEST(PartReadsTest, ARecordThatComesTwiceIsBroughtTwice) {
  Rng rng{RandomKey(1)};
  const std::string file = Letters(30000, rng);
  PartPlan plan;
  plan.bytes = 30000;
  plan.copies = {{0, 14000, 0},        {0, 100, 14000},
                 {2000, 12000, 14100}, {2000, 50, 26100},
                 {13000, 1000, 26150}, {13500, 100, 27150},
                 {14000, 2750, 27250}};
  PartReadLimits limits;
  limits.read_bytes = kReadAlignment;
  std::string part = WholePages(std::string(plan.bytes, '?'));
  const IoBuf to({Piece(part)});
  for (const PartRead& read : PlanPartReads(plan, limits)) {
    std::string bytes = WholePages(file.substr(read.offset, read.length));
    LayOut(plan, read, IoBuf({Piece(bytes)}), to);
  }
  part.resize(plan.bytes);
  EXPECT_EQ(part, Apply(plan, file));
}

TEST(PartReadsTest, SmallGapsAreReadOverAndLargeOnesAreNot) {
  PartPlan plan;
  plan.bytes = 300;
  plan.copies = {{0, 100, 0}, {10000, 100, 100}, {50000, 100, 200}};
  const std::vector<PartRead> reads = PlanPartReads(plan, PartReadLimits());
  ASSERT_EQ(reads.size(), 2u);
  EXPECT_EQ(reads[0].length, 10100u);
  EXPECT_EQ(reads[1].offset, 50000 / kReadAlignment * kReadAlignment);
  EXPECT_EQ(reads[1].offset + reads[1].length, 50100u);
}

TEST(PartReadsTest, NewlinesComeFromNowhere) {
  PartPlan plan;
  plan.bytes = 5;
  plan.newlines = {0, 4};
  std::string part = WholePages("?????");
  LayOutNewlines(plan, IoBuf({Piece(part)}));
  EXPECT_EQ(part.substr(0, 5), "\n???\n");
}

}  // namespace
}  // namespace shufflefs
