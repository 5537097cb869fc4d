// SPDX-License-Identifier: Apache-2.0
#include "policies/brand/brand.h"

#include <memory>
#include <vector>

#include "core/policy/binder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policies/lirs.h"
#include "policies/static_policy.h"
#include "tests/policies/binder_fixture.h"

namespace shufflefs {
namespace {

TEST(Brand, BindsAtRunTime) {
  const BrandPolicy policy((BrandOptions()));
  EXPECT_EQ(policy.name(), "brand");
  EXPECT_EQ(policy.consumption(), Consumption::kReactive);
  EXPECT_FALSE(policy.keeps_first());
  const auto data = testing_support::MakeBinderData({10}, 8, 2, true);
  const std::unique_ptr<Binder> binder = policy.MakeBinder(data->input);
  ASSERT_NE(binder, nullptr);
  EXPECT_EQ(binder->NextFetch(2000).size(), 2);
}

TEST(Brand, PlansAsLirsByInstanceWhereThereMustBeAPlan) {
  const BrandPolicy policy((BrandOptions()));
  const LirsPolicy lirs((LirsOptions()));
  const Stratum stratum{.key = 3, .size = 1000};
  const auto order = policy.MakeOrder(stratum, Seed(1), Epoch(2));
  const auto other = lirs.MakeOrder(stratum, Seed(1), Epoch(2));
  const auto listing = policy.MakeListing(stratum, Seed(1), Epoch(2));
  uint64_t same = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(order->SampleAt(i), other->SampleAt(i));
    same += order->SampleAt(i) == listing->SampleAt(i) ? 1 : 0;
  }
  EXPECT_LT(same, 10);
}

TEST(Static, IsNativeThatKeepsWhatWasReadFirst) {
  const StaticPolicy policy;
  EXPECT_EQ(policy.name(), "static");
  EXPECT_EQ(policy.consumption(), Consumption::kSource);
  EXPECT_TRUE(policy.keeps_first());
  BinderInput input;
  input.bytes = {4096, 8192};
  const std::unique_ptr<Binder> binder = policy.MakeBinder(input);
  EXPECT_EQ(binder->Bind(SampleId(1)), SampleId(1));
  EXPECT_TRUE(binder->NextFetch(1 << 20).empty()) << "nobody asked";
  EXPECT_TRUE(binder->FetchChunkOf(SampleId(1), 8191).empty());
  EXPECT_EQ(binder->FetchChunkOf(SampleId(1), 8192),
            std::vector<SampleId>{SampleId(1)});
  EXPECT_TRUE(binder->fetched_ahead(SampleId(1))) << "it would leave";
  const Stratum stratum{.key = 3, .size = 10};
  for (uint64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(policy.MakeOrder(stratum, Seed(1), Epoch(2))->SampleAt(i), i);
  }
}

}  // namespace
}  // namespace shufflefs
