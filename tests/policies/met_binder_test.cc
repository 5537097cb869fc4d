// SPDX-License-Identifier: Apache-2.0
// met's order: what is shown how often, in which mini-epochs, under random
// orders of asking.
#include "policies/met/met_binder.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/policies/met_fixture.h"

namespace shufflefs {
namespace {

using testing_support::Fixed;
using testing_support::Job;
using testing_support::MakeBinderData;

TEST(MetBinderTest, EverySampleComesAsOftenAsTheJobHasEpochs) {
  for (const auto& [minis, repeat, epochs] :
       std::vector<std::array<uint64_t, 3>>{{8, 4, 12},
                                            {8, 4, 14},
                                            {5, 3, 7},
                                            {1, 4, 8},
                                            {16, 8, 8},
                                            {3, 2, 9}}) {
    Job job(Fixed(minis, repeat, epochs), {100, 37, 3, 64}, minis);
    for (uint64_t e = 0; e < epochs; ++e) job.Epoch(e);
    EXPECT_EQ(job.Least(), epochs) << minis << " " << repeat;
    EXPECT_EQ(job.Most(), epochs) << minis << " " << repeat;
  }
}

TEST(MetBinderTest, WithoutTheNumberOfEpochsEachEpochShowsAll) {
  Job job(Fixed(8, 4, 0), {50, 7, 120}, 3);
  for (uint64_t e = 0; e < 5; ++e) {
    job.Epoch(e);
    EXPECT_EQ(job.Least(), e + 1);
    EXPECT_EQ(job.Most(), e + 1);
  }
}

TEST(MetBinderTest,
     AMiniEpochIsRepeatedBeforeTheNextAndEachTimeInAnotherOrder) {
  Job job(Fixed(4, 3, 12), {400}, 5);
  std::vector<uint32_t> drawn;
  for (uint64_t e = 0; e < 3; ++e) {
    job.Epoch(e);
    drawn.insert(drawn.end(), job.order().begin(), job.order().end());
  }
  std::set<uint32_t> all;
  for (uint64_t m = 0; m < 4; ++m) {
    const auto begin = drawn.begin() + static_cast<long>(m * 300);
    const std::vector<uint32_t> first(begin, begin + 100);
    const std::set<uint32_t> set(first.begin(), first.end());
    EXPECT_EQ(set.size(), 100u);
    for (long r = 1; r < 3; ++r) {
      const std::vector<uint32_t> again(begin + r * 100, begin + r * 100 + 100);
      EXPECT_EQ(set, std::set<uint32_t>(again.begin(), again.end()));
      EXPECT_NE(first, again);
    }
    all.insert(set.begin(), set.end());
  }
  EXPECT_EQ(all.size(), 400u);
}

TEST(MetBinderTest, MiniEpochsAreStratifiedAndDrawnAnewForEachPass) {
  Job job(Fixed(4, 2, 8), {100, 10, 6, 2}, 7);
  std::vector<std::map<uint32_t, uint64_t>> passes;
  for (uint64_t e = 0; e < 4; ++e) {
    job.binder().BeginEpoch(Seed(1), Epoch(e), {});
    for (const uint32_t name : job.Names()) {
      for (const uint64_t set : job.binder().WantedSets()) {
        if (passes.size() <= set / 4) passes.resize(set / 4 + 1);
        for (const SampleId s : job.binder().SamplesOf(set)) {
          const auto [it, fresh] = passes[set / 4].emplace(s.value(), set % 4);
          ASSERT_EQ(it->second, set % 4) << "a sample in two mini-epochs";
        }
      }
      job.Read(name);
    }
  }
  ASSERT_GE(passes.size(), 2u);
  for (size_t p = 0; p < 2; ++p) {
    ASSERT_EQ(passes[p].size(), job.size());
    std::map<std::pair<uint32_t, uint64_t>, uint32_t> shares;
    for (const auto& [sample, mini] : passes[p]) {
      ++shares[{job.data().grouping.group_of(SampleId(sample)).value(), mini}];
    }
    const std::vector<uint32_t> sizes = {100, 10, 6, 2};
    for (uint32_t g = 0; g < 4; ++g) {
      for (uint64_t m = 0; m < 4; ++m) {
        EXPECT_GE((shares[{g, m}]), sizes[g] / 4);
        EXPECT_LE((shares[{g, m}]), (sizes[g] + 3) / 4);
      }
    }
  }
  EXPECT_NE(passes[0], passes[1]);
}

// Whatever happens, a group's samples are shown as often as each other.
void RunRandomJobs(uint64_t seed) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Rng rng{RandomKey(seed)};
  for (int round = 0; round < 60; ++round) {
    std::vector<uint32_t> sizes(1 + rng.Bounded(6));
    for (uint32_t& size : sizes)
      size = static_cast<uint32_t>(1 + rng.Bounded(90));
    MetOptions options;
    options.mini_epochs = 1 + rng.Bounded(9);
    options.repeat = rng.Bounded(6);
    options.epochs = rng.Bounded(4) == 0 ? 0 : 1 + rng.Bounded(12);
    options.adapt = static_cast<MetOptions::Adapt>(rng.Bounded(3));
    SCOPED_TRACE(testing::Message()
                 << "round " << round << ": " << testing::PrintToString(sizes)
                 << " nm " << options.mini_epochs << " repeat "
                 << options.repeat << " epochs " << options.epochs << " adapt "
                 << static_cast<int>(options.adapt));
    Job job(options, sizes, rng.Next());
    const uint64_t cycle = std::max<uint64_t>(options.epochs, 1);
    for (uint64_t e = 0; e < 2 * cycle; ++e) {
      job.binder().BeginEpoch(Seed(1), Epoch(e), {});
      for (const uint32_t name : job.Names()) {
        if (rng.Bounded(10) == 0) {
          job.binder().Feedback(static_cast<double>(rng.Bounded(100)));
        }
        for (const uint64_t set : job.binder().WantedSets()) {
          if (rng.Bounded(40) == 0) job.binder().SetReady(set);
        }
        const SampleId sample = job.binder().Bind(SampleId(name));
        job.binder().Opened(SampleId(name));
        job.Fetch();
        job.Leave(sample);
        ASSERT_EQ(
            job.binder().NameAt(sample, job.binder().OrdinalOf(SampleId(name))),
            SampleId(name));
      }
      if ((e + 1) % cycle != 0) continue;
      const MiniEpochStatus status = job.binder().status();
      ASSERT_GE(status.fewest + 1, e + 1) << "epoch " << e;
      ASSERT_LE(status.most, e + 2) << "epoch " << e;
    }
  }
}

TEST(MetBinderTest, RandomJobs) {
  RunRandomJobs(
      static_cast<uint64_t>(testing::UnitTest::GetInstance()->random_seed()));
}

// With these seeds a group falls behind while it draws what it is owed.
TEST(MetBinderTest, AGroupThatFellBehindIsOwedOnce) {
  for (const uint64_t seed : {55, 199}) RunRandomJobs(seed);
}

// Names that were retained over a boundary, names that were never opened, and
// epochs that were broken off.
TEST(MetBinderTest, WhatIsShownOutOfTurnIsMadeUpFor) {
  Job job(Fixed(4, 3, 12), {60, 200}, 11);
  std::vector<uint32_t> shown(job.size());
  std::vector<NameBinding> retained;
  for (uint64_t e = 0; e < 12; ++e) {
    job.binder().BeginEpoch(Seed(1), Epoch(e), retained);
    for (const NameBinding& pair : retained) ++shown[pair.sample];
    std::vector<uint32_t> names = job.Names();
    std::vector<NameBinding> next;
    for (uint64_t i = 0; i < names.size(); ++i) {
      const SampleId name(names[i]);
      const bool was = job.binder().Bound(name).has_value();
      const SampleId sample = job.binder().Bind(name);
      if (was) continue;
      job.binder().Opened(name);
      ++shown[sample.value()];
      job.Fetch();
      job.Leave(sample);
      if (i % 29 == 0) next.push_back({name.value(), sample.value()});
    }
    retained = next;
  }
  const auto [least, most] = std::minmax_element(shown.begin(), shown.end());
  EXPECT_GE(*least, 11u);
  EXPECT_LE(*most, 13u);
}

// A job that reads some of the directories alone.
TEST(MetBinderTest, GroupsThatNobodyReadsHoldNothingUp) {
  Job job(Fixed(6, 2, 8), {60, 2000, 60}, 23);
  std::set<uint64_t> wanted;
  for (uint64_t e = 0; e < 8; ++e) {
    job.binder().BeginEpoch(Seed(1), Epoch(e), {});
    for (const uint32_t name : job.Names()) {
      if (name < 60 || name >= 2060) job.Read(name);
      wanted.insert(job.binder().WantedSets().front());
    }
  }
  // Four passes of six mini-epochs: each was the one that is read.
  EXPECT_GE(wanted.size(), 23u);
  for (uint32_t s = 0; s < 60; ++s) {
    EXPECT_EQ(job.shown()[s], 8u);
    EXPECT_EQ(job.shown()[2060 + s], 8u);
  }
}

// Who comes late begins where the others are, and has what is due to it.
TEST(MetBinderTest, AGroupThatIsReadLaterGetsItsShare) {
  Job job(Fixed(5, 3, 6), {50, 80}, 29);
  for (uint64_t e = 0; e < 6; ++e) {
    job.binder().BeginEpoch(Seed(1), Epoch(e), {});
    for (uint32_t name = 0; name < 50; ++name) job.Read(name);
  }
  for (uint64_t e = 6; e < 12; ++e) {
    job.binder().BeginEpoch(Seed(1), Epoch(e), {});
    for (uint32_t name = 50; name < 130; ++name) job.Read(name);
  }
  EXPECT_EQ(job.Least(), 6u);
  EXPECT_EQ(job.Most(), 6u);
}

// A factor that is found: the next mini-epoch is there at once, or never.
TEST(MetBinderTest, RepeatsWhileTheNextIsNotThere) {
  for (const bool ready : {true, false}) {
    Job job(Fixed(4, 0, 64), {4000}, 19);
    job.binder().BeginEpoch(Seed(1), Epoch(0), {});
    std::map<uint32_t, uint32_t> shown;
    uint64_t draws = 0;
    const uint64_t first = job.binder().WantedSets().front();
    for (const uint32_t name : job.Names()) {
      if (ready) {
        for (const uint64_t set : job.binder().WantedSets()) {
          job.binder().SetReady(set);
        }
      }
      if (job.binder().WantedSets().front() != first) break;
      job.binder().Bind(SampleId(name));
      ++draws;
    }
    // 1,000 samples: once, or as often as an epoch of 4,000 names lets them.
    if (ready) {
      EXPECT_LE(draws, 1001u);
    } else {
      EXPECT_EQ(draws, 4000u);
    }
  }
}

}  // namespace
}  // namespace shufflefs
