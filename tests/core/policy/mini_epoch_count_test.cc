// SPDX-License-Identifier: Apache-2.0
#include "core/policy/mini_epoch_count.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace shufflefs {
namespace {

constexpr uint64_t kSamples = 60000;

TEST(MiniEpochCountTest, OneIsEnoughIfTheTierHoldsAll) {
  EXPECT_EQ(MiniEpochsInTier(kSamples, 1000, 1040), 1u);
  EXPECT_GT(MiniEpochsInTier(kSamples, 1000, 1039), 1u);
  EXPECT_EQ(MiniEpochsInTier(kSamples, 1000, 0), 1u) << "not known";
}

// As shufflefs.toml(5) says of met.mini_epochs.
TEST(MiniEpochCountTest, EachIsAtMostTwoFifthsOfTheTier) {
  constexpr uint64_t kTier = uint64_t{100} << 30;
  for (uint64_t bytes = kTier; bytes < 100 * kTier; bytes += kTier / 7) {
    const uint64_t count = MiniEpochsInTier(kSamples, bytes, kTier);
    EXPECT_LE(bytes / count, kTier / 5 * 2) << bytes;
  }
}

}  // namespace
}  // namespace shufflefs
