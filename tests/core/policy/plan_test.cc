// SPDX-License-Identifier: Apache-2.0
// What a plan asks its policy for.
#include "core/policy/plan.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "policies/native.h"
#include "tests/core/base/temp_tree.h"

namespace shufflefs {
namespace {

using testing_support::TempTree;

// Keeps the strata for which it was asked for a listing.
class StratumRecorder : public NativePolicy {
 public:
  bool wants_blocks() const override { return true; }
  uint64_t block_bytes() const override { return 4096; }
  std::unique_ptr<const Order> MakeListing(const Stratum& stratum, Seed seed,
                                           Epoch epoch) const override {
    strata.push_back(stratum);
    return NativePolicy::MakeListing(stratum, seed, epoch);
  }
  mutable std::vector<Stratum> strata;
};

class PlanListingTest : public ::testing::Test {
 protected:
  PlanListingTest() {
    for (int i = 0; i < 12; ++i) tree_.File(absl::StrCat("a/", i, ".jpg"), "x");
    ViewConfig config;
    config.substitute = Substitute::kDirectory;
    std::shared_ptr<Dataset> dataset = *Dataset::Make(
        std::make_shared<const Catalogue>(tree_.Scanned()), config, "");
    dataset->SetAddresses(std::vector<uint64_t>(12, 8192));
    policy_ = std::make_shared<StratumRecorder>();
    plan_ =
        std::make_unique<Plan>(std::move(dataset), policy_, Seed(1), Epoch(2));
  }

  TempTree tree_;
  std::shared_ptr<StratumRecorder> policy_;
  std::unique_ptr<Plan> plan_;
};

TEST_F(PlanListingTest, APartOfAGroupHasAKeyOfItsOwn) {
  for (const uint64_t part : {0, 5, 6}) plan_->Listing(GroupId(0), part, 4);
  ASSERT_EQ(policy_->strata.size(), 3u);
  EXPECT_NE(policy_->strata[0].key, policy_->strata[1].key);
  EXPECT_NE(policy_->strata[1].key, policy_->strata[2].key);
}

TEST_F(PlanListingTest, APartOfAGroupHasNoBlocks) {
  plan_->Listing(GroupId(0), 0, 12);
  plan_->Listing(GroupId(0), 5, 4);
  ASSERT_EQ(policy_->strata.size(), 2u);
  EXPECT_NE(policy_->strata[0].blocks, nullptr);
  EXPECT_EQ(policy_->strata[1].blocks, nullptr);
  EXPECT_EQ(policy_->strata[1].size, 4u);
}

}  // namespace
}  // namespace shufflefs
