// SPDX-License-Identifier: Apache-2.0
#include "core/verify/joint_proof.h"

#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/ledger/ledger.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kNames = 100;

// Ledgers of several nodes.
class JointProofTest : public ::testing::Test {
 protected:
  std::unique_ptr<Ledger> Open(size_t node) {
    const std::string path = tree_.At(absl::StrCat("ledger", node));
    if (places_.size() <= node) places_.resize(node + 1);
    places_[node] = FilePlace(path);
    absl::StatusOr<std::unique_ptr<Ledger>> ledger =
        Ledger::Open(path, Ledger::Options{});
    EXPECT_TRUE(ledger.ok()) << ledger.status();
    return *std::move(ledger);
  }

  static LedgerEpoch Record(uint64_t epoch) {
    LedgerEpoch record;
    record.names = kNames;
    record.epoch = record.binding = Epoch(epoch);
    record.policy = "lirs";
    record.moves = true;
    return record;
  }

  // The samples from `first` on, `step` apart.
  static void Consume(Ledger& ledger, uint64_t first, uint64_t step) {
    for (uint64_t sample = first; sample < kNames; sample += step) {
      ASSERT_TRUE(ledger.Consumed(0, sample).ok());
    }
  }

  std::vector<JointEpoch> Joint() {
    absl::StatusOr<std::vector<JointEpoch>> joint = JoinLedgers(places_);
    EXPECT_TRUE(joint.ok()) << joint.status();
    return *std::move(joint);
  }

  testing_support::TempTree tree_;
  std::vector<FilePlace> places_;
};

TEST_F(JointProofTest, SharesOfTheNodesAreOneEpoch) {
  for (size_t node = 0; node < 3; ++node) {
    const std::unique_ptr<Ledger> ledger = Open(node);
    ASSERT_TRUE(ledger->BeginEpoch(Record(4)).ok());
    Consume(*ledger, node, 3);
    ASSERT_TRUE(ledger->BeginEpoch(Record(5)).ok());
    if (node != 1) Consume(*ledger, node, 3);
  }
  const std::vector<JointEpoch> joint = Joint();
  ASSERT_EQ(joint.size(), 2u);
  EXPECT_EQ(joint[0].epoch, 4u);
  EXPECT_THAT(joint[0].nodes, ElementsAre(0, 1, 2));
  EXPECT_THAT(joint[0].others, IsEmpty());
  EXPECT_TRUE(joint[0].complete());
  EXPECT_FALSE(joint[0].running);
  EXPECT_EQ(joint[0].again, 0u);
  EXPECT_EQ(joint[1].consumed, 67u);
  EXPECT_FALSE(joint[1].complete());
  EXPECT_TRUE(joint[1].running);
}

// A sampler pads; and a name that is opened for the next epoch before all nodes
// have ended this one is retained in it.
TEST_F(JointProofTest, ASampleOnSeveralNodesIsCountedUnlessItIsRetained) {
  for (size_t node = 0; node < 2; ++node) {
    const std::unique_ptr<Ledger> ledger = Open(node);
    ASSERT_TRUE(ledger->BeginEpoch(Record(0)).ok());
    Consume(*ledger, node, 2);
    if (node == 1) {
      for (const uint64_t sample : {0, 8, 42}) {
        ASSERT_TRUE(ledger->Consumed(0, sample).ok());
      }
    }
    LedgerEpoch next = Record(1);
    next.retained = {{8, 8}};
    ASSERT_TRUE(ledger->BeginEpoch(next).ok());
  }
  const std::vector<JointEpoch> joint = Joint();
  ASSERT_EQ(joint.size(), 2u);
  EXPECT_EQ(joint[0].consumed, kNames);
  EXPECT_EQ(joint[0].again, 2u);
}

// How many names there are is only what a ledger claims.
TEST_F(JointProofTest, MemoryIsTakenByWhatWasReadAlone) {
  constexpr uint64_t kMany = uint64_t{1} << 40;
  for (size_t node = 0; node < 2; ++node) {
    const std::unique_ptr<Ledger> ledger = Open(node);
    LedgerEpoch record = Record(0);
    record.names = kMany;
    ASSERT_TRUE(ledger->BeginEpoch(record).ok());
    ASSERT_TRUE(ledger->Consumed(0, kMany - 1).ok());
    ASSERT_TRUE(ledger->Consumed(0, node).ok());
    record.epoch = record.binding = Epoch(1);
    record.retained = {{kMany - 1, kMany - 1}};
    ASSERT_TRUE(ledger->BeginEpoch(record).ok());
  }
  const std::vector<JointEpoch> joint = Joint();
  ASSERT_EQ(joint.size(), 2u);
  EXPECT_EQ(joint[0].names, kMany);
  EXPECT_EQ(joint[0].consumed, 3u);
  EXPECT_EQ(joint[0].again, 0u);
  EXPECT_EQ(joint[1].early, 1u);
}

TEST_F(JointProofTest, ANodeWithOtherNamesIsNamedAndNotCounted) {
  for (size_t node = 0; node < 3; ++node) {
    const std::unique_ptr<Ledger> ledger = Open(node);
    LedgerEpoch record = Record(7);
    // The first one was left behind.
    if (node == 0) record.binding = Epoch(6);
    ASSERT_TRUE(ledger->BeginEpoch(record).ok());
    Consume(*ledger, node, 3);
  }
  const std::vector<JointEpoch> joint = Joint();
  ASSERT_EQ(joint.size(), 1u);
  EXPECT_THAT(joint[0].nodes, ElementsAre(1, 2));
  EXPECT_THAT(joint[0].others, ElementsAre(0));
  EXPECT_EQ(joint[0].consumed, 66u);
}

// A node that was left behind keeps what it showed, and says so. One that bound
// its names in a way of its own was not in the job's epoch.
TEST_F(JointProofTest, ANodeThatBoundItsNamesAlone) {
  for (const bool apart : {false, true}) {
    for (const bool reads : {false, true}) {
      SCOPED_TRACE(absl::StrCat(apart, reads));
      for (size_t node = 0; node < 3; ++node) {
        std::filesystem::remove(tree_.At(absl::StrCat("ledger", node)));
        const std::unique_ptr<Ledger> ledger = Open(node);
        LedgerEpoch record = Record(7);
        if (node == 2 && apart) record.retained = {{3, 3}};
        if (node == 2 && !apart) record.binding = Epoch(6);
        ASSERT_TRUE(ledger->BeginEpoch(record).ok());
        if (node < 2 || reads) Consume(*ledger, node, 3);
        ASSERT_TRUE(ledger->BeginEpoch(Record(8)).ok());
      }
      const std::vector<JointEpoch> joint = Joint();
      ASSERT_EQ(joint.size(), 2u);
      EXPECT_THAT(joint[0].others, ElementsAre(2));
      EXPECT_FALSE(joint[0].once());
      EXPECT_EQ(joint[0].broken(), apart && reads);
      EXPECT_TRUE(joint[1].once());
      EXPECT_FALSE(joint[1].broken());
    }
  }
}

// It was opened for the next epoch while a node was still in this one.
TEST_F(JointProofTest, ASampleThatIsRetainedMayBeRecordedBefore) {
  for (size_t node = 0; node < 2; ++node) {
    const std::unique_ptr<Ledger> ledger = Open(node);
    ASSERT_TRUE(ledger->BeginEpoch(Record(0)).ok());
    Consume(*ledger, node, 2);
    LedgerEpoch next = Record(1);
    next.retained = {{0, 0}, {3, 3}};
    ASSERT_TRUE(ledger->BeginEpoch(next).ok());
    Consume(*ledger, node == 0 ? 2 : 1, 2);
  }
  const std::vector<JointEpoch> joint = Joint();
  ASSERT_EQ(joint.size(), 2u);
  EXPECT_EQ(joint[1].consumed, kNames - 1);
  EXPECT_EQ(joint[1].early, 1u);
  EXPECT_TRUE(joint[1].complete());
  EXPECT_FALSE(joint[0].held || joint[1].held);
}

TEST_F(JointProofTest, HeldEpochsAreMarked) {
  for (size_t node = 0; node < 2; ++node) {
    const std::unique_ptr<Ledger> ledger = Open(node);
    ASSERT_TRUE(ledger->BeginEpoch(Record(0)).ok());
    ASSERT_TRUE(ledger->Hold(LedgerHold{0, Epoch(1), 'a', "why"}).ok());
    ASSERT_TRUE(ledger->BeginEpoch(Record(2)).ok());
  }
  const std::vector<JointEpoch> joint = Joint();
  ASSERT_EQ(joint.size(), 3u);
  EXPECT_TRUE(joint[0].held && joint[1].held);
  EXPECT_FALSE(joint[2].held);
}

TEST_F(JointProofTest, AnEpochOfOneNodeIsNoneOfThem) {
  for (size_t node = 0; node < 2; ++node) {
    ASSERT_TRUE(Open(node)->BeginEpoch(Record(node)).ok());
  }
  EXPECT_THAT(Joint(), IsEmpty());
}

TEST_F(JointProofTest, AMissingLedgerIsAnError) {
  ASSERT_TRUE(Open(0)->BeginEpoch(Record(0)).ok());
  places_.emplace_back(tree_.At("none"));
  EXPECT_EQ(ErrnoOf(JoinLedgers(places_).status()), ENOENT);
}

}  // namespace
}  // namespace shufflefs
