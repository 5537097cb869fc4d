// SPDX-License-Identifier: Apache-2.0
// How much of the device a view's tier may use.
#include "core/engine/tier_maker.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

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

  // Of the first view's tier, in a mount.
  uint64_t Capacity() const {
    TierMaker maker({.config = &config_,
                     .learnt = nullptr,
                     .pool = memory_.pool,
                     .policies = Policies(),
                     .foreground_reads = {},
                     .reach = {}});
    const ViewConfig& view = config_.views[0];
    const auto policy = MakePolicy(Policies(), "met", view.policy_options);
    Supply::Parts parts;
    parts.memory = memory_;
    BinderInput input;
    input.grouping = &dataset_->grouping();
    input.bytes.assign(dataset_->grouping().sample_count(), 12288);
    ThreadReader reader(source_, FileReaderOptions());
    const absl::Status status = maker.Fill(
        {&view, dataset_.get(), policy->get(), {&reader}}, parts, input);
    EXPECT_TRUE(status.ok()) << status;
    maker.Stop();
    return input.tier_bytes;
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

TEST_F(TierMakerTest, WhatItsViewsHaveLeftIs) {
  config_.views.emplace_back().path = "a/val";
  config_.views[1].policy = "met";
  EXPECT_LT(Capacity(), kHuge / 4);
  Leave("a~val");
  EXPECT_GT(Capacity(), kHuge / 4);
}

}  // namespace
}  // namespace shufflefs
