// SPDX-License-Identifier: Apache-2.0
// met, where epochs end by themselves or leave names out: what comes beyond its
// share, and what does not come at all, is spread over the samples.
#include "policies/met/met_shares.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "policies/met/met_binder.h"
#include "tests/policies/met_fixture.h"

namespace shufflefs {
namespace {

using testing_support::Fixed;
using testing_support::Job;
using testing_support::MakeBinderData;

struct Disturbance {
  uint64_t retained = 0;  // names over each boundary, at most
  uint64_t left_out = 0;  // names of an epoch but the last, at most
};

// Reads met.epochs epochs, and gives how often each sample was shown.
std::vector<uint32_t> Read(Job& job, uint64_t first, uint64_t epochs,
                           const Disturbance& disturbance) {
  std::vector<uint32_t> shown(job.size());
  std::vector<NameBinding> retained;
  std::set<uint64_t> once;  // samples and names that were retained
  for (uint64_t e = first; e < epochs; ++e) {
    job.binder().BeginEpoch(Seed(1), Epoch(e), retained);
    std::vector<uint32_t> names = job.Names();
    for (const NameBinding& pair : retained) {
      ++shown[pair.sample];
      std::erase(names, static_cast<uint32_t>(pair.name));
    }
    // What the last epoch leaves out nobody can give way for.
    const uint64_t out = e + 1 < epochs ? disturbance.left_out : 0;
    names.resize(names.size() -
                 std::min<uint64_t>(names.size(), job.rng().Bounded(out + 1)));
    for (const uint32_t name : names) {
      const SampleId sample = job.binder().Bind(SampleId(name));
      job.binder().Opened(SampleId(name));
      ++shown[sample.value()];
    }
    retained.clear();
    const uint64_t most = job.rng().Bounded(disturbance.retained + 1);
    for (const uint32_t name : names) {
      if (retained.size() == most) break;
      const uint64_t sample = job.binder().Bound(SampleId(name))->value();
      if (!once.insert(sample).second) continue;
      if (!once.insert(job.size() + name).second) continue;
      retained.push_back({name, sample});
    }
  }
  return shown;
}

// Over random jobs: each sample comes as often as the job has epochs, one more
// or less, though up to five are shown out of turn, and up to five names left
// out, an epoch. More than that may leave nobody who could give way.
TEST(MetSharesTest, EachSampleComesOneMoreOrLess) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng{RandomKey(seed)};
    const uint64_t epochs = 2 + rng.Bounded(10);
    // Mini-epochs of few samples, so that the last one alone could not make up
    // for all; and mostly one pass, after which nothing comes again.
    const uint64_t repeat = rng.Bounded(3) == 0 ? 1 + rng.Bounded(9) : epochs;
    std::vector<uint32_t> groups(1 + rng.Bounded(2));
    for (uint32_t& size : groups) {
      size = 200 + static_cast<uint32_t>(rng.Bounded(100));
    }
    Job job(Fixed(1 + rng.Bounded(16), repeat, epochs), groups, seed);
    const Disturbance disturbance{rng.Bounded(6), rng.Bounded(6)};
    const std::vector<uint32_t> shown = Read(job, 0, epochs, disturbance);
    const auto [least, most] = std::minmax_element(shown.begin(), shown.end());
    ASSERT_GE(*least + 1, epochs);
    ASSERT_LE(*most, epochs + 1);
  }
}

// Who gave way is told by the counts, where a later run goes on with them.
TEST(MetSharesTest, ALaterRunLeavesThemAsTheyAre) {
  constexpr uint64_t kEpochs = 8;
  Job first(Fixed(6, 8, kEpochs), {300}, 3);
  std::vector<uint32_t> shown = Read(first, 0, 6, {8, 0});
  const std::string served = first.binder().ServedNow();
  Job later(Fixed(6, 8, kEpochs), {300}, 4);
  ASSERT_TRUE(later.binder().TakeServed(served).ok());
  const std::vector<uint32_t> then = Read(later, 6, kEpochs, {});
  for (uint64_t s = 0; s < shown.size(); ++s) {
    EXPECT_GE(shown[s] + then[s] + 1, kEpochs) << s;
    EXPECT_LE(shown[s] + then[s], kEpochs + 1) << s;
  }
}

// Half of a group read is a node's share or an epoch that was broken off: the
// others have not had their turn.
TEST(MetSharesTest, NobodyGivesWayToHalfAnEpoch) {
  Job job(Fixed(4, 4, 4), {400}, 5);
  for (uint64_t e = 0; e < 8; ++e) job.Epoch(e, 200);
  EXPECT_EQ(job.Least(), 4u);
  EXPECT_EQ(job.Most(), 4u);
}

uint64_t LeftOf(const MetShares& shares, const Grouping& grouping) {
  uint64_t left = 0;
  for (uint32_t s = 0; s < grouping.sample_count(); ++s) {
    left += shares.Left(0, s);
  }
  return left;
}

// Without met.epochs each comes once an epoch. Nobody gives way to
// what is shown beyond that, and nothing is owed of an epoch that was short.
TEST(MetSharesTest, NothingIsLeftOutWhereNothingRepeats) {
  Job job(Fixed(4, 1, 0), {100}, 7);
  job.Epoch(0, 95);
  std::vector<NameBinding> retained;
  for (uint32_t name = 0; retained.size() < 5; ++name) {
    const auto sample = job.binder().Bound(SampleId(name));
    if (sample) retained.push_back({name, sample->value()});
  }
  job.binder().BeginEpoch(Seed(1), Epoch(1), retained);
  std::set<uint64_t> shown;
  for (uint32_t name = 0; name < 100; ++name) {
    shown.insert(job.binder().Bind(SampleId(name)).value());
  }
  EXPECT_EQ(shown.size(), 100u);
}

TEST(MetSharesTest, WhatALaterRunFindsUnevenIsNotOwed) {
  const auto data = MakeBinderData({16}, 1000, 64, true);
  MetShares shares(data->grouping, 1);
  std::vector<uint32_t> served(16, 3);
  served[9] = 1;
  served[4] = 5;
  shares.Restart(RandomKey(1), served);
  EXPECT_EQ(LeftOf(shares, data->grouping), 16u);
  shares.Serve(9);
  EXPECT_EQ(shares.Left(0, 9), 0u);
  EXPECT_EQ(shares.served()[9], 2u);
  EXPECT_EQ(shares.Raise(0).size(), 15u);
}

TEST(MetSharesTest, InTheNextEpochsWhoGaveWayIsAsTheOthers) {
  const auto data = MakeBinderData({16}, 1000, 64, true);
  MetShares shares(data->grouping, 4);
  shares.Restart(RandomKey(1), std::vector<uint32_t>(16));
  shares.Skip(0, 2);
  EXPECT_EQ(LeftOf(shares, data->grouping), 62u);
  EXPECT_EQ(shares.Raise(0).size(), 62u);
  EXPECT_EQ(LeftOf(shares, data->grouping), 128u);
}

TEST(MetSharesTest, ALaterRunGoesOnWithWhatTheLeastShownHaveLeft) {
  const auto data = MakeBinderData({16}, 1000, 64, true);
  MetShares shares(data->grouping, 4);
  std::vector<uint32_t> served(16, 3);
  served[9] = 5;
  shares.Restart(RandomKey(1), served);
  // Fifteen come once more, and one gives way to the one that came too often.
  EXPECT_EQ(LeftOf(shares, data->grouping), 14u);
}

TEST(MetSharesTest, ALaterRunTakesThoseWithLeastLeftForWhoGaveWay) {
  const auto data = MakeBinderData({16}, 1000, 64, true);
  MetShares shares(data->grouping, 4);
  std::vector<uint32_t> served(16, 1);
  served[9] = 6;
  served[3] = served[7] = 3;
  shares.Restart(RandomKey(1), served);
  for (uint32_t s = 0; s < 16; ++s) {
    EXPECT_EQ(shares.Left(0, s), s == 9 || s == 3 || s == 7 ? 0u : 3u) << s;
  }
}

}  // namespace
}  // namespace shufflefs
