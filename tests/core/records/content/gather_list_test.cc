// SPDX-License-Identifier: Apache-2.0
#include "core/records/content/gather_list.h"

#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/io/file_reader.h"
#include "core/random/random.h"
#include "gtest/gtest.h"
#include "tests/core/records/containers/record_fixture.h"
#include "tests/core/records/content/part_fixture.h"
#include "tests/testing/effort.h"

namespace shufflefs {
namespace {

using testing_support::Apply;
using testing_support::Letters;
using testing_support::Piece;
using testing_support::RandomPlan;
using testing_support::Rounds;
using testing_support::WholePages;

// What a part's reads bring of `file`, gathered.
class Gathered {
 public:
  Gathered(PartPlan& plan, const std::string& file,
           const PartReadLimits& limits) {
    const std::vector<PartRead> reads = PlanPartReads(plan, limits);
    memory_ = WholePages(std::string(GatherList::Footprint(plan, reads), '?'));
    part_ = std::make_unique<GatherList>(plan, reads, IoBuf({Piece(memory_)}));
    for (size_t k = 0; k < reads.size(); ++k) {
      // Bytes behind those that were asked for may be overwritten.
      const std::string bytes =
          WholePages(file.substr(reads[k].offset, reads[k].length));
      memory_.replace(part_->ReadBegin(k), bytes.size(), bytes);
    }
  }
  std::string Given(uint64_t from, uint64_t length) const {
    GivenBytes given;
    part_->Give(from, length, given);
    copies_ = given.copies.size();
    pieces_ = given.range.size();
    std::string bytes;
    for (const iovec& piece : given.range) {
      bytes.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
    }
    return bytes;
  }
  const std::string& memory() const { return memory_; }
  size_t copies() const { return copies_; }  // of Given, as the one below
  size_t pieces() const { return pieces_; }

 private:
  std::string memory_;
  std::unique_ptr<GatherList> part_;
  mutable size_t copies_ = 0;
  mutable size_t pieces_ = 0;
};

// The plan's last copies are taken for pieces that are kept, some bytes come
// from nowhere.
void AddOtherPieces(PartPlan& plan, Rng& rng) {
  for (int i = 0; i < 3; ++i) {
    plan.newlines.push_back(plan.bytes++);
    plan.literals.push_back({plan.bytes, Letters(1 + rng.Bounded(9000), rng)});
    plan.bytes += plan.literals.back().bytes.size();
  }
  uint64_t end = Arena::Footprint(plan.bytes);
  for (size_t i = 0; i + 1 < plan.copies.size(); i += 2) {
    PartCopy& copy = plan.copies[i];
    if (copy.bytes < 2) continue;
    // Its second half; the first stays a piece of the part.
    const uint64_t half = copy.bytes / 2;
    plan.literals.push_back(
        {copy.to + half, std::string(copy.bytes - half, '#')});
    plan.kept.push_back({copy.from + half, copy.bytes - half, end, copy.file});
    end = plan.kept_end = end + copy.bytes - half;
    copy.bytes = half;
  }
  plan.copies.insert(plan.copies.end(), plan.kept.begin(), plan.kept.end());
  SortCopies(plan.copies);
}

TEST(GatherListTest, GivesEveryRangeOfThePart) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng{RandomKey(seed)};
  const std::string file = Letters(700000, rng);
  for (int round = 0; round < Rounds(60); ++round) {
    PartPlan plan = RandomPlan(file.size(), rng);
    AddOtherPieces(plan, rng);
    PartReadLimits limits;
    limits.read_bytes = kReadAlignment * (1 + rng.Bounded(20));
    limits.gap_bytes = rng.Bounded(20000);
    PartPlan without_kept = plan;
    std::erase_if(without_kept.copies, [&plan](const PartCopy& copy) {
      return copy.to >= plan.bytes;
    });
    const std::string part = Apply(without_kept, file);
    const std::vector<PartCopy> kept = plan.kept;
    // So what can be addressed of the memory can be of the part.
    ASSERT_GT(GatherList::Footprint(plan, PlanPartReads(plan, limits)),
              plan.bytes);
    const Gathered gathered(plan, file, limits);
    ASSERT_EQ(gathered.Given(0, part.size()), part) << round;
    for (int i = 0; i < 20; ++i) {
      const uint64_t from = rng.Bounded(part.size());
      const uint64_t length = 1 + rng.Bounded(part.size() - from);
      ASSERT_EQ(gathered.Given(from, length), part.substr(from, length));
    }
    ASSERT_EQ(plan.kept.size(), kept.size());
    for (size_t i = 0; i < kept.size(); ++i) {
      EXPECT_EQ(gathered.memory().substr(plan.kept[i].to, kept[i].bytes),
                file.substr(kept[i].from, kept[i].bytes));
    }
  }
}

// Then RecordProducer lays it out instead.
TEST(GatherListTest, APartOfFourGigabytesIsTooLarge) {
  for (const uint64_t records : {3, 4, 5}) {
    PartPlan plan;
    for (uint64_t r = 0; r < records; ++r) {
      plan.copies.push_back({r << 30, 1 << 30, (records - 1 - r) << 30, 0});
    }
    plan.bytes = records << 30;
    const std::vector<PartRead> reads = PlanPartReads(plan, PartReadLimits());
    EXPECT_EQ(GatherList::Footprint(plan, reads) > GatherList::kMostBytes,
              records >= 4);
  }
}

TEST(GatherListTest, SmallPiecesAreCopiedAndLargeOnesAreNot) {
  Rng rng{RandomKey(1)};
  const std::string file = Letters(1 << 20, rng);
  PartPlan plan;
  for (uint64_t at = 0; at < file.size(); at += 100) {
    plan.copies.push_back({at, std::min<uint64_t>(100, file.size() - at),
                           file.size() - std::min(at + 100, file.size()), 0});
  }
  plan.bytes = file.size();
  const Gathered small(plan, file, PartReadLimits());
  small.Given(1000, 100000);
  EXPECT_EQ(small.copies(), 1u);
  EXPECT_EQ(small.pieces(), 1u);

  plan.copies = {{0, 500000, file.size() - 500000, 0},
                 {500000, file.size() - 500000, 0, 0}};
  const Gathered large(plan, file, PartReadLimits());
  large.Given(1000, file.size() - 2000);
  EXPECT_EQ(large.copies(), 0u);
  EXPECT_EQ(large.pieces(), 2u);
}

}  // namespace
}  // namespace shufflefs
