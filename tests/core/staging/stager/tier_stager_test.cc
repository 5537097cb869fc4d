// SPDX-License-Identifier: Apache-2.0
// Which files are in the tier when: what is wanted, in its order, never more
// than its capacity, and what an earlier run left.
#include "core/staging/stager/tier_stager.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/staging/tier/tier_fixture.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using testing_support::Contents;
using testing_support::RandomBytes;
using testing_support::SetPlan;
using testing_support::Slurp;
using testing_support::Spill;
using testing_support::TierFixture;

class TierStagerTest : public TierFixture {
 protected:
  uint64_t OnDevice() const {
    uint64_t bytes = 0;
    for (const std::string& name : Parts()) {
      std::error_code gone;  // parts come and go while the next set is copied
      const uintmax_t size = std::filesystem::file_size(TierPath(name), gone);
      if (!gone) bytes += size;
    }
    return bytes;
  }
  // `count` sets, each of files at random.
  std::vector<std::vector<EntryId>> Sets(uint64_t seed, size_t count) {
    Rng rng{RandomKey(seed)};
    std::vector<std::vector<EntryId>> sets(count);
    for (const EntryId file : files_) {
      sets[rng.Bounded(count)].push_back(file);
    }
    for (size_t i = 0; i < count; ++i) plan_->Put(i, Whole(sets[i]));
    return sets;
  }
  uint64_t Footprint(const std::vector<EntryId>& files) const {
    uint64_t bytes = 0;
    for (const EntryId file : files) {
      bytes += TierRoundUp(contents_.at(file).size());
    }
    return bytes;
  }
};

TEST_F(TierStagerTest, SetsAreStagedInOrderAndToldOnce) {
  Source(1, 60);
  const auto sets = Sets(1, 4);
  plan_->Want({2, 0, 3});
  Open();
  plan_->WaitReady(3);
  EXPECT_THAT(plan_->ready(), ElementsAre(2, 0, 3));
  for (int i = 0; i < 20; ++i) tier_->Changed();
  plan_->Want({2, 0, 3, 1});
  tier_->Changed();
  plan_->WaitReady(1);
  EXPECT_THAT(plan_->ready(), ElementsAre(2, 0, 3, 1));
  EXPECT_EQ(tier_->status().copied_bytes, TreeBytes(files_));
  EXPECT_EQ(tier_->status().staged_bytes, OnDevice());
}

TEST_F(TierStagerTest, TwoSetsAtATimeWithinTheCapacity) {
  Source(2, 150);
  const auto sets = Sets(2, 8);
  uint64_t most = 0;
  for (size_t i = 0; i + 1 < sets.size(); ++i) {
    most = std::max(most, Footprint(sets[i]) + Footprint(sets[i + 1]));
  }
  Tier::Options options = Options();
  options.capacity = most + most / 32 + 65536;
  Open(options);
  for (size_t i = 0; i < sets.size(); ++i) {
    plan_->Want(i + 1 < sets.size() ? std::vector<uint64_t>{i, i + 1}
                                    : std::vector<uint64_t>{i});
    tier_->Changed();
    plan_->WaitReady(i);
    EXPECT_LE(OnDevice(), options.capacity);
    ReadAll(sets[i]);
    if (i + 1 < sets.size()) plan_->WaitReady(i + 1);
    EXPECT_LE(OnDevice(), options.capacity);
  }
  EXPECT_EQ(tier_->status().copied_bytes, TreeBytes(files_));  // each once
  EXPECT_EQ(tier_->status().source_bytes, 0u);
}

// Other sets of the same files, as in the next epoch: what is there of them is
// spread over all old parts.
TEST_F(TierStagerTest, TheSetsOfTheNextEpochFitToo) {
  Source(3, 150);
  const auto first = Sets(3, 6);
  Rng rng{RandomKey(33)};
  std::vector<std::vector<EntryId>> second(6);
  for (const EntryId file : files_) second[rng.Bounded(6)].push_back(file);
  std::vector<std::vector<EntryId>> sets = first;
  sets.insert(sets.end(), second.begin(), second.end());
  uint64_t most = 0;
  for (size_t i = 0; i < sets.size(); ++i) {
    plan_->Put(i, Whole(sets[i]));
    const uint64_t next = i + 1 < sets.size() ? Footprint(sets[i + 1]) : 0;
    most = std::max(most, Footprint(sets[i]) + next);
  }
  Tier::Options options = Options();
  options.memory_bytes = 2 << 20;
  options.capacity = most + most / 8;
  Open(options);
  for (size_t i = 0; i + 1 < sets.size(); ++i) {
    plan_->Want({i, i + 1});
    tier_->Changed();
    plan_->WaitReady(i);
    ReadAll(sets[i]);
    EXPECT_LE(OnDevice(), options.capacity);
  }
}

TEST_F(TierStagerTest, WhatDoesNotFitIsReadFromTheSource) {
  Source(4, 60);
  const auto sets = Sets(4, 2);
  Tier::Options options = Options();
  options.capacity = Footprint(sets[0]) * 17 / 16 + 65536;
  Open(options);
  plan_->Want({0, 1});
  tier_->Changed();
  plan_->WaitReady(0);
  ReadAll(files_);
  EXPECT_LE(OnDevice(), options.capacity);
  EXPECT_THAT(plan_->ready(), ElementsAre(0));
  // The other one gets the room.
  plan_->Want({1});
  options.capacity = Footprint(sets[1]) * 17 / 16 + 65536;
  Open(options);
  plan_->WaitReady(1);
  EXPECT_LE(OnDevice(), options.capacity);
  ReadAll(files_);
}

TEST_F(TierStagerTest, AFileLargerThanABatchIsStagedInPieces) {
  Rng rng{RandomKey(5)};
  tree_.File("large", RandomBytes(rng, 5 * kMemory + 77));
  tree_.File("exact", RandomBytes(rng, kMemory / 2));
  tree_.File("over", RandomBytes(rng, kMemory / 2 + 1));
  for (int i = 0; i < 9; ++i) tree_.File("s" + std::to_string(i), "small");
  Scan();
  Open();
  Stage(1, files_);
  const uint64_t reads = reader_->stats().reads;
  ReadAll(files_);
  const EntryId large = *catalogue_->FindPath("large");
  for (int i = 0; i < 50; ++i) {
    const uint64_t offset = rng.Bounded(2000) * kReadAlignment;
    Ask(large, offset, 1 + rng.Bounded(300000));
  }
  ExpectAllRight();
  EXPECT_EQ(reader_->stats().reads, reads);
  EXPECT_EQ(tier_->status().copied_bytes, TreeBytes(files_));
}

TEST_F(TierStagerTest, ALargeFileThatCannotBeReadIsLeftOut) {
  Rng rng{RandomKey(6)};
  tree_.File("large", RandomBytes(rng, 3 * kMemory));
  tree_.File("small", "small");
  Scan();
  reader_->Fail("large", EIO);
  Open();
  Stage(1, files_);
  EXPECT_EQ(tier_->status().copied_bytes, 5u);
  EXPECT_EQ(Parts().size(), 1u);  // nothing is left of the other
  EXPECT_TRUE(tier_->status().health.empty());
}

TEST_F(TierStagerTest, ANewRunReadsNothingAgain) {
  Source(7, 60);
  Open();
  Stage(1, files_);
  const auto before = Contents(TierPath());
  tier_->Stop();
  const uint64_t reads = reader_->stats().reads;
  plan_ = std::make_shared<SetPlan>();
  plan_->Put(9, Whole(files_));
  plan_->Want({9});
  Open();
  plan_->WaitReady(9);
  ReadAll(files_);
  EXPECT_EQ(reader_->stats().reads, reads);
  EXPECT_EQ(Contents(TierPath()), before);
  EXPECT_EQ(tier_->status().staged_bytes, OnDevice());
}

TEST_F(TierStagerTest, OnlyWhatIsOursIsRemoved) {
  Source(8, 30);
  Open();
  Stage(1, files_);
  tier_->Stop();
  const std::map<std::string, std::string> foreign = {
      {"notes", "mine"},
      {"part-1.tier", "not the form"},
      {"part-00000000000000FF.tier", "nor this"},
      {"part-00000000000000ff.tier.bak", "nor this"}};
  for (const auto& [name, bytes] : foreign) Spill(TierPath(name), bytes);
  Spill(place_.At("data"), "mine");
  Spill(place_.At("shufflefs-tier/data"), "mine");
  ASSERT_EQ(symlink("notes", TierPath("part-00000000000000aa.tier").c_str()),
            0);
  std::filesystem::create_directory(TierPath("part-00000000000000ab.tier"));
  // These are ours: of a run that was ended, damaged, empty.
  Spill(TierPath("part-00000000000000ff.new"), "half");
  Spill(TierPath("part-00000000000000fe.tier"), "no part");
  Spill(TierPath("part-00000000000000fd.tier"), "");
  // Another dataset now.
  tree_.File("one", "more");
  Scan();
  Open();
  const std::vector<std::string> parts = Parts();
  EXPECT_THAT(parts,
              testing::UnorderedElementsAre("part-00000000000000aa.tier",
                                            "part-00000000000000ab.tier"));
  for (const auto& [name, bytes] : foreign) {
    EXPECT_EQ(Slurp(TierPath(name)), bytes);
  }
  EXPECT_EQ(Slurp(place_.At("data")), "mine");
  EXPECT_EQ(Slurp(place_.At("shufflefs-tier/data")), "mine");
  plan_ = std::make_shared<SetPlan>();
  tier_->Follow(plan_);
  Stage(1, files_);
  ReadAll(files_);
}

TEST_F(TierStagerTest, WishesThatChangeUnderWayAreFollowed) {
  Source(9, 200);
  const auto sets = Sets(9, 10);
  Open();
  Rng rng{RandomKey(9)};
  for (int i = 0; i < 60; ++i) {
    const uint64_t set = rng.Bounded(sets.size());
    plan_->Want({set, rng.Bounded(sets.size())});
    tier_->Changed();
    if (rng.Bounded(3) == 0) ReadAll(sets[set]);
  }
  plan_->Put(77, Whole(files_));
  plan_->Want({77});
  tier_->Changed();
  plan_->WaitReady(77);
  const uint64_t reads = reader_->stats().reads;
  ReadAll(files_);
  EXPECT_EQ(reader_->stats().reads, reads);
}

TEST_F(TierStagerTest, TheLastPlanThatWantsSomethingCounts) {
  Source(10, 30);
  const auto sets = Sets(10, 2);
  plan_->Want({0});
  Open();
  plan_->WaitReady(0);
  auto second = std::make_shared<SetPlan>();
  second->Put(0, Whole(sets[1]));  // the same number, other files
  tier_->Follow(second);
  second->Want({0});
  tier_->Changed();
  second->WaitReady(0);
  ReadAll(sets[1]);
  EXPECT_EQ(tier_->status().source_bytes, 0u);
  second = nullptr;
  tier_->Changed();
  plan_->WaitReady(0, 2);
  ReadAll(sets[0]);
  EXPECT_EQ(tier_->status().source_bytes, 0u);
}

TEST_F(TierStagerTest, StopsWhileAReadHangs) {
  Source(11, 30);
  const std::string held = catalogue_->path(files_[2]);
  reader_->Hold(held);
  Open();
  plan_->Put(1, Whole(files_));
  plan_->Want({1});
  tier_->Changed();
  Until([&] { return reader_->waiting(held) == 1; });
  Ask(files_[2]);
  tier_ = nullptr;
  reader_->Release(held);
  ExpectAllRight();
}

}  // namespace
}  // namespace shufflefs
