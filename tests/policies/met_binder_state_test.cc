// SPDX-License-Identifier: Apache-2.0
// What a binder of met remembers: names, counts of a former run, the tier.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/ledger/served_counts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policies/met/count_spread.h"
#include "policies/met/met_binder.h"
#include "tests/policies/met_fixture.h"

namespace shufflefs {
namespace {

using testing_support::Fixed;
using testing_support::Job;
using testing_support::MakeBinderData;

TEST(MetBinderStateTest, WhatWasBoundAndNeverOpenedWasNotShown) {
  Job job(Fixed(4, 2, 4), {100}, 13);
  job.binder().BeginEpoch(Seed(1), Epoch(0), {});
  for (uint32_t name = 0; name < 100; ++name) {
    job.binder().Bind(SampleId(name));  // a walk over the tree
  }
  for (uint64_t e = 1; e <= 4; ++e) job.Epoch(e);
  EXPECT_EQ(job.Least(), 4u);
  EXPECT_EQ(job.Most(), 4u);
}

TEST(MetBinderStateTest, TheNamesOfASampleAreToldApart) {
  Job job(Fixed(1, 4, 4), {1, 8}, 1);
  MetBinder& binder = job.binder();
  // One name shows sample 0 in each epoch; half of the group's names some.
  for (uint64_t e = 0; e < 3; ++e) {
    binder.BeginEpoch(Seed(1), Epoch(e), {});
    EXPECT_EQ(binder.NameAt(SampleId(1), 0), absl::nullopt);
    std::map<uint64_t, uint32_t> names;
    for (const uint32_t name : job.Names()) {
      const SampleId sample = binder.Bind(SampleId(name));
      const uint32_t ordinal = binder.OrdinalOf(SampleId(name));
      EXPECT_EQ(ordinal, names[sample.value()]++);
      EXPECT_EQ(binder.NameAt(sample, ordinal), SampleId(name));
      EXPECT_EQ(binder.NameAt(sample, ordinal + 1), absl::nullopt);
      binder.Opened(SampleId(name));
    }
    for (uint32_t name = 0; name < 9; ++name) {
      EXPECT_EQ(binder.NameAt(*binder.Bound(SampleId(name)),
                              binder.OrdinalOf(SampleId(name))),
                SampleId(name));
    }
  }
}

TEST(MetBinderStateTest, ALaterRunGoesOnWithTheCounts) {
  std::string served;
  std::vector<uint32_t> shown(300);
  {
    Job job(Fixed(6, 4, 8), {120, 180}, 17);
    for (uint64_t e = 0; e < 3; ++e) job.Epoch(e);
    shown = job.shown();
    job.binder().BeginEpoch(Seed(1), Epoch(3), {});
    served = job.binder().Served();
  }
  Job job(Fixed(6, 4, 8), {120, 180}, 18);
  ASSERT_TRUE(job.binder().TakeServed(served).ok());
  for (uint64_t e = 3; e < 8; ++e) job.Epoch(e);
  for (uint64_t s = 0; s < shown.size(); ++s) {
    EXPECT_EQ(shown[s] + job.shown()[s], 8u) << s;
  }
  Job other(Fixed(6, 4, 8), {120}, 18);
  EXPECT_TRUE(absl::IsDataLoss(other.binder().TakeServed(served)));
  EXPECT_TRUE(absl::IsDataLoss(other.binder().TakeServed("x")));
}

TEST(MetBinderStateTest, WhatAnEarlierRunStagedComesFirst) {
  auto data = MakeBinderData({200, 100}, 1000, 64, true);
  data->input.staged.assign(300, false);
  for (uint32_t s = 0; s < 300; s += 3) data->input.staged[s] = true;
  MetBinder binder(Fixed(3, 2, 6), data->input);
  EXPECT_TRUE(binder.WantedSets().empty()) << "before any epoch";
  binder.BeginEpoch(Seed(1), Epoch(0), {});
  uint64_t staged = 0;
  const std::vector<SampleId> first =
      binder.SamplesOf(binder.WantedSets().front());
  for (const SampleId s : first) staged += data->input.staged[s.value()];
  EXPECT_GE(staged, first.size() - 2);
}

TEST(MetBinderStateTest, MiniEpochsFitTheTier) {
  auto data = MakeBinderData({1000}, 1000, 64, true, 1 << 20);
  MetOptions options;
  data->input.tier_bytes = uint64_t{2000} << 20;
  EXPECT_EQ(MetProgress::MiniEpochsFor(options, data->input), 1u);
  data->input.tier_bytes = uint64_t{250} << 20;
  const uint32_t count = MetProgress::MiniEpochsFor(options, data->input);
  EXPECT_GE(count, 10u);
  EXPECT_LE(count, 12u);
  options.mini_epochs = 4;
  EXPECT_EQ(MetProgress::MiniEpochsFor(options, data->input), 4u);
}

// Another policy may come before its first epoch.
TEST(MetBinderStateTest, CountsThatNoEpochHasYetAreKept) {
  Job job(Fixed(4, 2, 4), {40}, 13);
  job.Epoch(0, 25);
  const std::string served = job.binder().ServedNow();
  Job later(Fixed(4, 2, 4), {40}, 13);
  ASSERT_TRUE(later.binder().TakeServed(served).ok());
  EXPECT_EQ(later.binder().ServedNow(), served);
}

// Its status looks at none of them.
TEST(MetBinderStateTest, KnowsTheFewestAndTheMost) {
  for (const uint64_t cycle : {1, 4}) {
    Job job(Fixed(4, cycle, cycle), {60, 40}, 13);
    for (uint64_t e = 0; e < 6; ++e) {
      job.Epoch(e, e == 2 ? 70 : job.size());
      EXPECT_EQ(job.binder().status().fewest, job.Least());
      EXPECT_EQ(job.binder().status().most, job.Most());
    }
    const std::vector<NameBinding> bound = {{3, 5}, {4, 5}, {70, 5 + 60}};
    job.binder().BeginEpoch(Seed(1), Epoch(6), bound);
    const auto counts = *UnpackCounts(job.binder().ServedNow(), 100);
    const auto [least, most] =
        std::minmax_element(counts.begin(), counts.end());
    EXPECT_EQ(job.binder().status().fewest, *least);
    EXPECT_EQ(job.binder().status().most, *most);
  }
}

TEST(CountSpreadTest, FollowsCountsThatGrow) {
  CountSpread spread;
  EXPECT_EQ(spread.most(), 0u);
  std::vector<uint32_t> counts = {7, 1000, 7, 8};
  spread.Reset(counts);
  for (const size_t i : {1, 0, 3, 2, 2, 2}) {
    spread.Raise(counts[i]++);
    EXPECT_EQ(spread.least(), *std::min_element(counts.begin(), counts.end()));
    EXPECT_EQ(spread.most(), *std::max_element(counts.begin(), counts.end()));
  }
}

TEST(MetBinderStateTest, OneMiniEpochIsAllSamplesWhateverWasShown) {
  Job job(Fixed(1, 2, 4), {40}, 31);
  job.Epoch(0, 25);
  EXPECT_EQ(job.binder().SamplesOf(0).size(), 40u);
  const std::string served = job.binder().ServedNow();
  Job later(Fixed(1, 2, 4), {40}, 33);
  ASSERT_TRUE(later.binder().TakeServed(served).ok());
  later.binder().BeginEpoch(Seed(1), Epoch(1), {});
  EXPECT_EQ(later.binder().SamplesOf(0).size(), 40u);
}

}  // namespace
}  // namespace shufflefs
