// SPDX-License-Identifier: Apache-2.0
#include "core/records/part_reads.h"

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "core/io/file_reader.h"
#include "core/random.h"
#include "gtest/gtest.h"
#include "tests/core/record_fixture.h"

namespace shufflefs {
namespace {

using testing_support::Apply;
using testing_support::Letters;

iovec Piece(std::string& bytes) { return {bytes.data(), bytes.size()}; }

// As an arena has them.
std::string WholePages(std::string bytes) {
  bytes.resize((bytes.size() + Arena::kPage - 1) / Arena::kPage * Arena::kPage);
  return bytes;
}

// Copies of random pieces of a file, by place; some touch, some do not.
PartPlan RandomPlan(uint64_t file_bytes, Rng& rng) {
  PartPlan plan;
  std::vector<PartCopy> copies;
  for (uint64_t at = rng.Bounded(9000); at < file_bytes;) {
    const uint64_t bytes = std::min(
        1 + rng.Bounded(rng.Bounded(3) == 0 ? 60000 : 500), file_bytes - at);
    copies.push_back({at, bytes, 0});
    at += bytes + (rng.Bounded(2) == 0 ? 0 : rng.Bounded(9000));
  }
  // They lie in the part the other way round.
  for (size_t i = 0; i < copies.size(); ++i) {
    PartCopy& copy = copies[copies.size() - 1 - i];
    copy.to = plan.bytes;
    plan.bytes += copy.bytes;
  }
  plan.copies = std::move(copies);
  return plan;
}

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
    const PagedBytes to({Piece(part)});
    uint64_t before = 0;
    for (const PartRead& read : PlanPartReads(plan, limits)) {
      EXPECT_EQ(read.offset % kReadAlignment, 0u);
      EXPECT_LE(read.length, limits.read_bytes);
      EXPECT_GE(read.offset + kReadAlignment, before);
      before = read.offset + read.length;
      ASSERT_LE(before, file.size());
      std::string bytes = WholePages(file.substr(read.offset, read.length));
      LayOut(plan, read, PagedBytes({Piece(bytes)}), to);
    }
    part.resize(plan.bytes);
    ASSERT_EQ(part, Apply(plan, file)) << round;
  }
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
  LayOutNewlines(plan, PagedBytes({Piece(part)}));
  EXPECT_EQ(part.substr(0, 5), "\n???\n");
}

}  // namespace
}  // namespace shufflefs
