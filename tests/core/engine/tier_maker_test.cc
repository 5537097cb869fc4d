// SPDX-License-Identifier: Apache-2.0
// How much of the device a view's tier may use.
#include "core/engine/tier_maker.h"

#include <fcntl.h>
#include <sys/file.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/base/files/unique_fd.h"
#include "core/io/thread_reader.h"
#include "core/scan/scan.h"
#include "core/staging/tier/tier_dir.h"
#include "gtest/gtest.h"
#include "policies/registry.h"
#include "tests/core/pool/test_memory.h"
#include "tests/mount-tools/temp_dir.h"

namespace shufflefs {
namespace {

// More than is free on any device. Such a file of holes takes no space.
constexpr uint64_t kHuge = uint64_t{8} << 40;

class TierMakerTest : public ::testing::Test {
 protected:
  TierMakerTest() {
    for (const char* name : {"a.jpg", "b.jpg", "c.jpg"}) {
      tree_.Write(name, std::string(9000, 'x'));
    }
    config_.tier_path = tier_.path();
    config_.memory = uint64_t{64} << 20;
    ViewConfig& view = config_.views.emplace_back();
    view.policy = "met";
    dataset_ = *Dataset::Make(
        std::make_shared<const Catalogue>(*Scan(source_, ScanOptions())), view,
        "");
  }

  void Leave(const std::string& view) const {
    namespace fs = std::filesystem;
    const fs::path dir = fs::path(tier_.path()) / kTierDirectory / view;
    fs::create_directories(dir);
    std::ofstream(dir / "left").put('x');
    fs::resize_file(dir / "left", kHuge);
  }

  TierMaker::Parts MakerParts() const {
    return {.config = &config_,
            .saved_factors = nullptr,
            .pool = memory_.pool,
            .policies = Policies(),
            .foreground_reads = {},
            .reach = {}};
  }
  // What the producer of the first view needs of its tier.
  struct Filled {
    SampleProducer::Parts parts;
    BinderInput input;
  };
  absl::StatusOr<Filled> Fill(TierMaker& maker, FileReader* reader) const {
    const ViewConfig& view = config_.views[0];
    const auto policy = MakePolicy(Policies(), "met", view.policy_options);
    Filled filled;
    filled.parts.memory = memory_;
    filled.input.grouping = &dataset_->grouping();
    filled.input.bytes.assign(dataset_->grouping().sample_count(), 12288);
    const absl::Status status =
        maker.Fill({&view, dataset_.get(), policy->get(), {reader}},
                   filled.parts, filled.input);
    if (!status.ok()) return status;
    return filled;
  }
  // Of the first view's tier, in a mount.
  uint64_t Capacity(const std::vector<ViewConfig>* given = nullptr) const {
    TierMaker::Parts maker_parts = MakerParts();
    maker_parts.given = given;
    TierMaker maker(maker_parts);
    ThreadReader reader(source_, FileReaderOptions());
    const auto filled = Fill(maker, &reader);
    EXPECT_TRUE(filled.ok()) << filled.status();
    maker.Stop();
    return filled->input.tier_bytes;
  }
  // Locks the directory, as another mount would. Invalid if a mount has it.
  UniqueFd LockDirectory() const {
    namespace fs = std::filesystem;
    const fs::path dir = fs::path(tier_.path()) / kTierDirectory;
    fs::create_directories(dir);
    UniqueFd fd(
        open((dir / ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    EXPECT_TRUE(fd.valid());
    if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) fd = UniqueFd();
    return fd;
  }
  // Returns whether neither the directory nor memory is taken.
  bool IsNothingTaken() const {
    const uint64_t all = memory_.pool->capacity();
    const auto other =
        memory_.pool->Open({.name = "other", .guarantee = all, .most = all});
    return (*other)->Room() == all && LockDirectory().valid();
  }

  const TempDir tree_;
  const TempDir tier_;
  const SourceDir source_ = *SourceDir::At(tree_.path());
  const PoolMemory memory_ = testing_support::TestMemory(uint64_t{48} << 20);
  MountConfig config_;
  std::shared_ptr<const Dataset> dataset_;
};

TEST_F(TierMakerTest, WhatOtherMountsHaveLeftIsNotFree) {
  EXPECT_LT(Capacity(), kHuge / 2);
  Leave("gone");
  config_.views.emplace_back().path = "val";
  config_.views[1].policy = "lirs";
  Leave("val");  // its policy has no tier now
  EXPECT_LT(Capacity(), kHuge / 2);
}

// The order of an epoch follows from its view's part. After a kill the
// configuration has what the control file had changed.
TEST_F(TierMakerTest, WhatTheControlFileChangesMovesNoPart) {
  config_.tier_capacity = 600;
  config_.views.emplace_back().path = "val";
  config_.views[1].policy = "native";
  config_.views.emplace_back().path = "test";
  config_.views[2].policy = "native";
  const std::vector<ViewConfig> given = config_.views;
  const auto capacity = [&](size_t view, const std::vector<ViewConfig>& by) {
    return TierMaker::CapacityOf({&config_, &by, Policies()},
                                 config_.views[view]);
  };
  EXPECT_EQ(capacity(0, given), 600u);
  config_.views[1].policy = "met";
  EXPECT_EQ(capacity(0, given), 600u);
  EXPECT_EQ(capacity(1, given), 0u) << "together they would exceed the key";
  std::vector<ViewConfig> both = config_.views;
  EXPECT_EQ(capacity(0, both), 300u);
  EXPECT_EQ(capacity(1, both), 300u);
  both[0].policy = both[1].policy = "lirs";
  EXPECT_EQ(capacity(0, both), 200u);
  EXPECT_EQ(capacity(2, both), 200u) << "whichever of them changes";
}

TEST_F(TierMakerTest, ADirectoryOfAnotherMountTakesNoMemory) {
  TierMaker maker(MakerParts());
  ThreadReader reader(source_, FileReaderOptions());
  UniqueFd lock = LockDirectory();
  const auto filled = Fill(maker, &reader);
  EXPECT_EQ(filled.status().code(), absl::StatusCode::kFailedPrecondition);
  lock = UniqueFd();
  EXPECT_TRUE(IsNothingTaken());
  maker.Stop();
}

TEST_F(TierMakerTest, MiniEpochsThatAreTooLargeOpenNoTier) {
  config_.tier_capacity = 20000;
  config_.views[0].policy_options.Set("met.mini_epochs", uint64_t{2});
  TierMaker maker(MakerParts());
  ThreadReader reader(source_, FileReaderOptions());
  const auto filled = Fill(maker, &reader);
  EXPECT_EQ(filled.status().code(), absl::StatusCode::kInvalidArgument)
      << filled.status();
  EXPECT_TRUE(IsNothingTaken());
  maker.Stop();
}

// Its producer was refused later, or another policy has replaced it.
TEST_F(TierMakerTest, ATierThatNothingUsesIsClosedAndMayBeOpenedAgain) {
  TierMaker maker(MakerParts());
  ThreadReader reader(source_, FileReaderOptions());
  for (int round = 0; round < 3; ++round) {
    {
      const auto filled = Fill(maker, &reader);
      ASSERT_TRUE(filled.ok()) << filled.status();
      EXPECT_FALSE(IsNothingTaken());
    }
    bool closed = false;
    for (int i = 0; i < 60000 && !closed; ++i) {
      closed = IsNothingTaken();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_TRUE(closed) << "waited for a minute";
  }
  maker.Stop();
}

// One producer takes it over from another.
TEST_F(TierMakerTest, ATierStaysOpenWhileOneOfItsUsersExists) {
  TierMaker maker(MakerParts());
  ThreadReader reader(source_, FileReaderOptions());
  auto first = Fill(maker, &reader);
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = Fill(maker, &reader);
  ASSERT_TRUE(second.ok()) << second.status();
  first = absl::CancelledError("gone");
  EXPECT_EQ(second->parts.sets.tier().capacity, second->input.tier_bytes);
  EXPECT_FALSE(IsNothingTaken());
  maker.Stop();
}

// What a view has left is free for its mount whatever policy it has now.
// Otherwise the first view's mini-epochs would be smaller after a kill.
TEST_F(TierMakerTest, WhatAViewThatWasSwitchedHasLeftCountsAsBefore) {
  config_.views.emplace_back().path = "val";
  config_.views[1].policy = "met";
  const std::vector<ViewConfig> given = config_.views;
  config_.views[1].policy = "native";
  EXPECT_LT(Capacity(&given), kHuge / 4);
  Leave("val");
  EXPECT_GT(Capacity(&given), kHuge / 4);
}

TEST_F(TierMakerTest, WhatItsViewsHaveLeftIs) {
  config_.views.emplace_back().path = "a/val";
  config_.views[1].policy = "met";
  EXPECT_LT(Capacity(), kHuge / 4);
  Leave("a~val");
  EXPECT_GT(Capacity(), kHuge / 4);
}

}  // namespace
}  // namespace shufflefs
