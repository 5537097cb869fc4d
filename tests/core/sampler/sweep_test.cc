// SPDX-License-Identifier: Apache-2.0
#include "core/sampler/sweep.h"

#include <vector>

#include "gtest/gtest.h"

namespace shufflefs {
namespace {

std::vector<uint32_t> TakeAll(Sweep& sweep) {
  std::vector<uint32_t> taken;
  while (const auto wish = sweep.Take()) taken.push_back(wish->index);
  return taken;
}

TEST(SweepTest, GoesUpAndBeginsAgainBelow) {
  Sweep sweep;
  for (const uint32_t at : {50, 10, 90}) sweep.Add(at, {1, at});
  EXPECT_EQ(sweep.Take()->index, 10u);
  EXPECT_EQ(sweep.Take()->index, 50u);
  sweep.Add(20, {1, 20});  // behind the arm
  sweep.Add(70, {1, 70});  // ahead of it
  EXPECT_EQ(TakeAll(sweep), (std::vector<uint32_t>{70, 90, 20}));
  EXPECT_EQ(sweep.size(), 0u);
}

TEST(SweepTest, OfOneAddressWhatCameFirstIsFirst) {
  Sweep sweep;
  for (uint32_t i = 0; i < 5; ++i) sweep.Add(0, {1, i});
  EXPECT_EQ(sweep.Take()->index, 0u);
  sweep.Add(0, {1, 5});
  EXPECT_EQ(TakeAll(sweep), (std::vector<uint32_t>{1, 2, 3, 4, 5}));
}

}  // namespace
}  // namespace shufflefs
