// SPDX-License-Identifier: Apache-2.0
#include "policies/met/met_model.h"

#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace shufflefs {
namespace {

constexpr double kGb = 1e9;
constexpr double kNoBound = std::numeric_limits<double>::infinity();

// The paper's: 3.8 TB/s and 65,000 samples a second, 400 GB/s below.
MetTiers Paper() {
  return {.consumed_bytes = 3.8 * 1024 * kGb,
          .peak_samples = 65000,
          .tier_bytes = kNoBound,
          .capacity_bytes = 400 * kGb};
}

TEST(MetModel, EquationOneGivesThePapersFigure) {
  EXPECT_NEAR(MetCapacityDraw(Paper(), 128) / kGb, 30.4, 0.1);
  EXPECT_NEAR(MetCapacityDraw(Paper(), 10) / kGb, 389.1, 0.1);
  // With MAX it would be 400 for each of them, and unbounded at rf 1.
  EXPECT_EQ(MetCapacityDraw(Paper(), 1), 400 * kGb);
  EXPECT_EQ(MetCapacityDraw(Paper(), 9), 400 * kGb);
}

TEST(MetModel, ThePeakIsReachedFromRepeatTen) {
  for (uint64_t rf = 10; rf <= 128; ++rf) {
    EXPECT_DOUBLE_EQ(MetThroughput(Paper(), rf), 65000) << rf;
  }
  EXPECT_NEAR(MetThroughput(Paper(), 9), 65000 * 3600 / 3891.2, 1);
  EXPECT_NEAR(MetThroughput(Paper(), 1), 65000 * 400 / 3891.2, 1);
  EXPECT_EQ(MetLeastRepeat(Paper()), 10u);
}

TEST(MetModel, ThePerformanceTierBoundsToo) {
  MetTiers tiers = Paper();
  tiers.tier_bytes = tiers.consumed_bytes / 2;
  EXPECT_DOUBLE_EQ(MetThroughput(tiers, 128), 32500);
  EXPECT_EQ(MetLeastRepeat(tiers), 5u);
  tiers.capacity_bytes = tiers.consumed_bytes * 2;
  EXPECT_DOUBLE_EQ(MetThroughput(tiers, 1), 32500);
  EXPECT_EQ(MetLeastRepeat(tiers), 1u);
}

// The job takes 100 bytes a second, 10 samples; each of 4 mini-epochs has 250
// bytes, which are shown in 2.5 s and copied in 5 s.
MetTiers Small() {
  return {.consumed_bytes = 100,
          .peak_samples = 10,
          .tier_bytes = kNoBound,
          .capacity_bytes = 50};
}

TEST(MetModel, AMiniEpochIsShownWhileTheNextIsCopied) {
  const MetTrace once = TraceMet(Small(), 1000, {1, 1, 1, 1});
  EXPECT_DOUBLE_EQ(once.first_copy, 5);
  EXPECT_DOUBLE_EQ(once.shown, 10);
  EXPECT_DOUBLE_EQ(once.waited, 7.5);  // 2.5 s behind each but the last
  EXPECT_DOUBLE_EQ(once.total(), 22.5);
  EXPECT_DOUBLE_EQ(once.samples, 100);
  EXPECT_DOUBLE_EQ(once.copied_bytes, 1000);

  const MetTrace twice = TraceMet(Small(), 1000, {2, 2, 2, 2});
  EXPECT_DOUBLE_EQ(twice.waited, 0);
  EXPECT_DOUBLE_EQ(twice.total(), 25);
  EXPECT_DOUBLE_EQ(twice.samples, 200);
  EXPECT_DOUBLE_EQ(twice.copied_bytes, 1000);
}

TEST(MetModel, EachMiniEpochHasItsOwnFactor) {
  const MetTrace trace = TraceMet(Small(), 1000, {1, 4, 1, 4});
  EXPECT_DOUBLE_EQ(trace.shown, 25);
  EXPECT_DOUBLE_EQ(trace.waited, 5);
  EXPECT_DOUBLE_EQ(trace.total(), 35);
  EXPECT_EQ(TraceMet(Small(), 1000, {}).total(), 0);
}

// Without waiting, a long pass comes to what the rates say.
TEST(MetModel, TheTraceAgreesWithTheRates) {
  for (uint64_t rf : {1, 5, 9, 10, 128}) {
    const std::vector<uint64_t> repeats(10000, rf);
    const MetTrace trace = TraceMet(Paper(), 1e15, repeats);
    EXPECT_NEAR(trace.samples / trace.total(), MetThroughput(Paper(), rf),
                MetThroughput(Paper(), rf) / 1000)
        << rf;
  }
}

}  // namespace
}  // namespace shufflefs
