// SPDX-License-Identifier: Apache-2.0
// Which epochs by number are remembered, and of which setup.
#include <memory>
#include <string>
#include <utility>

#include "core/view/fixed_epochs.h"
#include "gtest/gtest.h"
#include "tests/core/records/content/record_producer_fixture.h"
#include "tests/core/view/container_setup.h"

namespace shufflefs {
namespace {

using testing_support::ContainerConfig;
using testing_support::ContainerTools;
using testing_support::TempTree;
using testing_support::TestPool;

// One container, and a policy that shuffles its records.
class FixedEpochsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    tree_.File("a.bin", std::string(10000, 'x'));
    catalogue_ = std::make_shared<const Catalogue>(tree_.Scanned());
    setup_ = Make(Seed(1));
  }

  std::shared_ptr<const ViewSetup> Make(Seed seed) {
    ViewConfig config = ContainerConfig();
    config.seed = seed;
    auto setup = MakeViewSetup(config, catalogue_,
                               ContainerTools(tree_, test_.pool), nullptr);
    EXPECT_TRUE(setup.ok()) << setup.status();
    return *std::move(setup);
  }

  TempTree tree_;
  TestPool test_{64 << 20};
  std::shared_ptr<const Catalogue> catalogue_;
  std::shared_ptr<const ViewSetup> setup_;
  FixedEpochs fixed_;
};

TEST_F(FixedEpochsTest, TheSameEpochIsMadeOnce) {
  const auto binding = fixed_.BindingOf(*setup_, Epoch(5));
  EXPECT_EQ(binding->plan().epoch(), Epoch(5));
  EXPECT_EQ(binding->plan().seed(), Seed(1));
  EXPECT_NE(fixed_.BindingOf(*setup_, Epoch(6)), binding);
  EXPECT_EQ(fixed_.BindingOf(*setup_, Epoch(5)), binding);

  const auto records = fixed_.RecordsOf(*setup_, Epoch(5));
  EXPECT_EQ(records->epoch(), Epoch(5));
  EXPECT_FALSE(records->live());
  EXPECT_NE(fixed_.RecordsOf(*setup_, Epoch(6)), records);
  EXPECT_EQ(fixed_.RecordsOf(*setup_, Epoch(5)), records);
}

TEST_F(FixedEpochsTest, AnotherSetupHasEpochsOfItsOwn) {
  const auto binding = fixed_.BindingOf(*setup_, Epoch(5));
  const auto records = fixed_.RecordsOf(*setup_, Epoch(5));
  const auto same = Make(Seed(1));  // but with a policy of its own
  const auto other = Make(Seed(2));
  for (const auto& setup : {same, other}) {
    EXPECT_NE(fixed_.BindingOf(*setup, Epoch(5)), binding);
    EXPECT_NE(fixed_.RecordsOf(*setup, Epoch(5)), records);
  }
  EXPECT_EQ(fixed_.BindingOf(*setup_, Epoch(5)), binding);
  EXPECT_EQ(fixed_.RecordsOf(*setup_, Epoch(5)), records);
}

TEST_F(FixedEpochsTest, TheOneThatWasNotAskedForLongestGoes) {
  constexpr uint64_t kMost = FixedEpochs::kMostRemembered;
  const auto first = fixed_.BindingOf(*setup_, Epoch(0));
  const std::weak_ptr<const Binding> second =
      fixed_.BindingOf(*setup_, Epoch(1));
  const auto first_records = fixed_.RecordsOf(*setup_, Epoch(0));
  const std::weak_ptr<RecordEpoch> second_records =
      fixed_.RecordsOf(*setup_, Epoch(1));
  for (uint64_t epoch = 2; epoch < kMost; ++epoch) {
    fixed_.BindingOf(*setup_, Epoch(epoch));
    fixed_.RecordsOf(*setup_, Epoch(epoch));
  }
  EXPECT_EQ(fixed_.BindingOf(*setup_, Epoch(0)), first);
  EXPECT_EQ(fixed_.RecordsOf(*setup_, Epoch(0)), first_records);
  EXPECT_FALSE(second.expired());
  EXPECT_FALSE(second_records.expired());

  fixed_.BindingOf(*setup_, Epoch(kMost));
  fixed_.RecordsOf(*setup_, Epoch(kMost));
  EXPECT_EQ(fixed_.BindingOf(*setup_, Epoch(0)), first);
  EXPECT_EQ(fixed_.RecordsOf(*setup_, Epoch(0)), first_records);
  EXPECT_TRUE(second.expired());
  EXPECT_TRUE(second_records.expired());
}

TEST_F(FixedEpochsTest, WithoutShuffledRecordsThereAreNone) {
  ViewSetup without = *setup_;
  without.records = ViewRecords();
  EXPECT_EQ(fixed_.RecordsOf(without, Epoch(0)), nullptr);
}

}  // namespace
}  // namespace shufflefs
