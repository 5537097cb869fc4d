// SPDX-License-Identifier: Apache-2.0
#include "core/records/content/kept_plans.h"

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace shufflefs {
namespace {

std::shared_ptr<const PartPlan> PlanOfCopies(size_t copies) {
  auto plan = std::make_shared<PartPlan>();
  plan->copies.resize(copies);
  return plan;
}

// As of a part of an index: text that is shorter than a copy.
std::shared_ptr<const PartPlan> PlanOfText(size_t pieces) {
  auto plan = std::make_shared<PartPlan>();
  for (size_t i = 0; i < pieces; ++i) {
    plan->literals.push_back({i * 20, std::string(20, '1')});
  }
  return plan;
}

TEST(KeptPlansTest, ThoseThatWereAskedForLastStay) {
  KeptPlans plans(100000);  // three of them
  for (uint64_t part = 0; part < 3; ++part) {
    plans.Keep({1, part}, PlanOfCopies(1000));
  }
  const auto first = plans.Find({1, 0});
  ASSERT_NE(first, nullptr);
  plans.Keep({1, 3}, PlanOfCopies(1000));
  EXPECT_EQ(plans.Find({1, 0}), first);
  EXPECT_EQ(plans.Find({1, 1}), nullptr);
  EXPECT_NE(plans.Find({1, 2}), nullptr);
  EXPECT_NE(plans.Find({1, 3}), nullptr);
  EXPECT_LE(plans.bytes(), 100000u);
  plans.Keep({2, 0}, PlanOfCopies(100));
  plans.Forget({1});
  EXPECT_EQ(plans.Find({1, 3}), nullptr);
  EXPECT_NE(plans.Find({2, 0}), nullptr);
  EXPECT_LE(plans.bytes(), 5000u);
}

TEST(KeptPlansTest, OneThatIsTooLargeTakesNobodysPlace) {
  KeptPlans plans(100000);
  plans.Keep({1, 0}, PlanOfCopies(1000));
  plans.Keep({1, 1}, PlanOfCopies(10000));
  EXPECT_NE(plans.Find({1, 0}), nullptr);
  EXPECT_EQ(plans.Find({1, 1}), nullptr);
}

// However little there is in a plan, it takes memory.
TEST(KeptPlansTest, PlansOfALittleTextAreBoundedToo) {
  KeptPlans plans(1 << 20);
  std::vector<std::weak_ptr<const PartPlan>> all;
  const auto alive = [&all] {
    uint64_t count = 0;
    for (const auto& plan : all) count += !plan.expired();
    return count;
  };
  for (uint64_t part = 0; part < 100000; ++part) {
    const auto plan = PlanOfText(1);
    all.push_back(plan);
    plans.Keep({1, part}, plan);
    ASSERT_LE(plans.bytes(), 1u << 20);
  }
  EXPECT_LE(alive(), (1u << 20) / sizeof(PartPlan));
  // So few that they are found at once.
  EXPECT_LE(alive(), 1024u);
  EXPECT_GE(alive(), 100u);
  all.clear();
  for (uint64_t part = 0; part < 1000; ++part) {
    const auto plan = PlanOfText(100);
    all.push_back(plan);
    plans.Keep({2, part}, plan);
  }
  EXPECT_LE(alive(), (1u << 20) / (100 * (sizeof(PartLiteral) + 20)));
  EXPECT_GE(alive(), 50u);
}

}  // namespace
}  // namespace shufflefs
