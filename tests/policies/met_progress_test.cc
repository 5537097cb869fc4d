// SPDX-License-Identifier: Apache-2.0
// What met plans: which samples the passes and mini-epochs to come are made of.
#include "policies/met/met_progress.h"

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/policies/met_fixture.h"

namespace shufflefs {
namespace {

using testing_support::BinderData;
using testing_support::Fixed;
using testing_support::MakeBinderData;

std::vector<uint32_t> Drawn(MetProgress& progress, uint32_t group, int count) {
  std::vector<uint32_t> drawn;
  for (int i = 0; i < count; ++i) drawn.push_back(progress.Draw(group));
  return drawn;
}

// They come before all others, from wherever they are.
TEST(MetProgressTest, AFewSamplesThatWereLeftOutAreNoPass) {
  const std::unique_ptr<BinderData> data = MakeBinderData({80}, 1000, 64, true);
  MetProgress progress(Fixed(4, 4, 4), data->input);
  std::vector<uint32_t> served(80, 4);
  for (const uint32_t sample : {7, 20, 33, 61, 79}) served[sample] = 3;
  progress.Restart(Seed(1), Epoch(4), served);
  EXPECT_EQ(progress.SamplesOf(progress.WantedSets().front()).size(), 20u);
  EXPECT_THAT(Drawn(progress, 0, 5),
              testing::UnorderedElementsAre(7, 20, 33, 61, 79));
}

// The next pass is planned, and copied, while this one's last mini-epoch is
// shown.
TEST(MetProgressTest, WhatThisPassWillShowIsNotPlannedForTheNext) {
  const std::unique_ptr<BinderData> data =
      MakeBinderData({100}, 1000, 64, true);
  MetProgress progress(Fixed(2, 4, 4), data->input);
  progress.Restart(Seed(1), Epoch(0), std::vector<uint32_t>(100));
  Drawn(progress, 0, 4 * 50 + 1);
  ASSERT_THAT(progress.WantedSets(), testing::ElementsAre(1, 2, 3));
  std::set<uint64_t> next;
  for (const uint64_t set : {2, 3}) {
    for (const SampleId sample : progress.SamplesOf(set)) {
      next.insert(sample.value());
    }
  }
  EXPECT_EQ(next.size(), 100u);
}

TEST(MetProgressTest, AMiniEpochIsWantedUntilAllGroupsHaveLeftIt) {
  const std::unique_ptr<BinderData> data =
      MakeBinderData({60, 40}, 1000, 64, true);
  MetProgress progress(Fixed(4, 1, 0), data->input);
  progress.Restart(Seed(1), Epoch(0), std::vector<uint32_t>(100));
  Drawn(progress, 1, 1);
  Drawn(progress, 0, 15 + 1);
  EXPECT_THAT(progress.WantedSets(), testing::ElementsAre(1, 0, 2, 3));
  Drawn(progress, 1, 9 + 1);
  EXPECT_THAT(progress.WantedSets(), testing::ElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace shufflefs
