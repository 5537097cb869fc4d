// SPDX-License-Identifier: Apache-2.0
// Orders that follow from the size of the tier, and the hash by which an epoch
// resumes.
#include "core/engine/policy_resolver.h"

#include <cstdint>
#include <memory>

#include "core/config/config.h"
#include "core/view/epoch_token.h"
#include "core/view/view_setup.h"
#include "gtest/gtest.h"
#include "policies/registry.h"
#include "tests/core/view/view_fixture.h"

namespace shufflefs {
namespace {

using testing_support::ViewFixture;

class TierOrdersTest : public ::testing::Test {
 protected:
  TierOrdersTest() : fixture_(4, 30) {
    fixture_.Setup(ViewFixture::Config("lirs"));  // scans
    config_ = ViewFixture::Config("met");
    config_.policy_options.Set("met.epochs", 8);
    config_.policy_options.Set("met.repeat", 2);
  }

  std::shared_ptr<const ViewSetup> SetupWith(uint64_t tier_capacity) const {
    MountConfig mount;
    mount.tier_capacity = tier_capacity;
    mount.views = {config_};
    auto setup = MakeViewSetup(
        config_, fixture_.catalogue,
        ToolsWithoutMount(*fixture_.source, AllPolicies(), &mount), nullptr);
    EXPECT_TRUE(setup.ok()) << setup.status();
    return *std::move(setup);
  }
  uint64_t HashWith(uint64_t tier_capacity) const {
    return SetupWith(tier_capacity)->options_hash;
  }
  // That of ledgers in which nothing follows from the tier.
  uint64_t PlainHash() const { return OptionsHash(config_, Policies()); }

  // Bytes for a part of the dataset: of its pages, and of its files.
  static constexpr uint64_t kPart = 100000;
  static constexpr uint64_t kPartOfFiles = 1000;
  static constexpr uint64_t kAll = uint64_t{1} << 30;

  ViewFixture fixture_;
  ViewConfig config_;
};

TEST_F(TierOrdersTest, RanksCountByTheirMiniEpochs) {
  config_.layout = Layout::kRanked;
  EXPECT_NE(HashWith(kPart), PlainHash());
  EXPECT_NE(HashWith(kPart), HashWith(kPart / 2));
  EXPECT_EQ(HashWith(kPart), HashWith(kPart));
  EXPECT_NE(TokenKeys(*SetupWith(kPart)), TokenKeys(*SetupWith(kPart / 2)));
  // One mini-epoch: the order is the same whatever the size.
  EXPECT_EQ(HashWith(kAll), PlainHash());
  EXPECT_EQ(HashWith(0), PlainHash());
}

TEST_F(TierOrdersTest, RecordsCountByTheirMiniEpochs) {
  config_.substitute = Substitute::kNever;
  EXPECT_NE(HashWith(kPartOfFiles), PlainHash());
  EXPECT_NE(HashWith(kPartOfFiles), HashWith(kPartOfFiles / 2));
  EXPECT_EQ(HashWith(0), PlainHash());
  // All fit, so nothing is repeated. Without a size some records would be.
  EXPECT_NE(HashWith(kAll), PlainHash());
  EXPECT_EQ(HashWith(kAll), HashWith(2 * kAll));
  // Without repetitions the order follows from nothing of the tier.
  config_.policy_options.Set("met.repeat", 1);
  EXPECT_EQ(HashWith(kPartOfFiles), PlainHash());
}

TEST_F(TierOrdersTest, AKeyThatIsGivenIsEnough) {
  config_.policy_options.Set("met.mini_epochs", 5);
  for (const Layout layout : {Layout::kTree, Layout::kRanked}) {
    for (const Substitute substitute :
         {Substitute::kNever, Substitute::kDirectory}) {
      config_.layout = layout;
      config_.substitute = substitute;
      EXPECT_EQ(HashWith(kPart), PlainHash());
      EXPECT_EQ(HashWith(kAll), PlainHash());
    }
  }
}

// The ledger is the record of what they showed.
TEST_F(TierOrdersTest, NamesThatAreBoundOnDemandCountByTheirKeysAlone) {
  EXPECT_EQ(HashWith(kPart), PlainHash());
  EXPECT_EQ(HashWith(kAll), PlainHash());
}

}  // namespace
}  // namespace shufflefs
