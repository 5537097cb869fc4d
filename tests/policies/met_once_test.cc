// SPDX-License-Identifier: Apache-2.0
// met without met.epochs: each sample comes once an epoch, whatever
// the epochs before left out.
#include <algorithm>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "policies/met/met_binder.h"
#include "tests/policies/met_fixture.h"

namespace shufflefs {
namespace {

using testing_support::Fixed;
using testing_support::Job;

uint64_t DistinctOf(const Job& job) {
  return std::set<uint32_t>(job.order().begin(), job.order().end()).size();
}

// A pass of 288 has dropped its last batch; one of 150 was broken off.
TEST(MetOnceTest, AnEpochAfterAShortOneShowsEachSampleOnce) {
  for (const uint64_t epochs : {0u, 1u}) {
    for (const uint64_t read : {1u, 150u, 288u, 299u, 300u}) {
      for (const uint64_t minis : {1u, 4u}) {
        SCOPED_TRACE(testing::Message() << read << " read, " << minis);
        Job job(Fixed(minis, 0, epochs), {300}, 5);
        job.Epoch(0, read);
        for (uint64_t e = 1; e < 4; ++e) {
          job.Epoch(e);
          EXPECT_EQ(DistinctOf(job), 300u) << "epoch " << e;
        }
      }
    }
  }
}

TEST(MetOnceTest, NoEpochRepeatsASampleWhicheverAreShort) {
  for (uint64_t seed = 1; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Job job(Fixed(1 + seed % 5, seed % 3, 0), {120, 40, 1, 139}, seed);
    for (uint64_t e = 0; e < 12; ++e) {
      const bool is_short = job.rng().Bounded(2) == 0;
      const uint64_t read = is_short ? 1 + job.rng().Bounded(300) : 300;
      job.Epoch(e, read);
      EXPECT_EQ(DistinctOf(job), read) << "epoch " << e;
    }
  }
}

// What the detector retains over the boundary is of the epoch, too.
TEST(MetOnceTest, WhatIsRetainedOverAShortEpochsEndIsNotShownAgain) {
  for (const uint64_t minis : {1u, 3u}) {
    Job job(Fixed(minis, 0, 0), {100}, 11);
    job.Epoch(0, 90);
    std::vector<NameBinding> retained;
    for (uint32_t name = 0; retained.size() < 9; ++name) {
      const auto sample = job.binder().Bound(SampleId(name));
      if (sample) retained.push_back({name, sample->value()});
    }
    job.binder().BeginEpoch(Seed(1), Epoch(1), retained);
    std::set<uint64_t> shown;
    for (const uint32_t name : job.Names()) {
      shown.insert(job.binder().Bind(SampleId(name)).value());
      job.binder().Opened(SampleId(name));
    }
    EXPECT_EQ(shown.size(), 100u) << minis;
  }
}

// The daemon is started again in an epoch after a short one.
TEST(MetOnceTest, ALaterRunOwesNothingEither) {
  Job job(Fixed(3, 0, 0), {200}, 13);
  job.Epoch(0, 120);
  job.binder().BeginEpoch(Seed(1), Epoch(1), {});
  std::vector<NameBinding> bound;
  const std::vector<uint32_t> names = job.Names();
  std::set<uint64_t> shown;
  for (size_t k = 0; k < 70; ++k) {
    const SampleId sample = job.binder().Bind(SampleId(names[k]));
    job.binder().Opened(SampleId(names[k]));
    bound.push_back({names[k], sample.value()});
    shown.insert(sample.value());
  }
  Job later(Fixed(3, 0, 0), {200}, 14);
  ASSERT_TRUE(later.binder().TakeServed(job.binder().Served()).ok());
  later.binder().BeginEpoch(Seed(1), Epoch(1), bound);
  for (size_t k = 70; k < names.size(); ++k) {
    shown.insert(later.binder().Bind(SampleId(names[k])).value());
    later.binder().Opened(SampleId(names[k]));
  }
  EXPECT_EQ(shown.size(), 200u);
  later.Epoch(2);
  EXPECT_EQ(DistinctOf(later), 200u);
}

// A group that nobody reads begins no order anew, so no copies are in vain.
TEST(MetOnceTest, AGroupThatNobodyReadsChangesNothing) {
  Job job(Fixed(2, 0, 0), {100, 50}, 17);
  job.binder().BeginEpoch(Seed(1), Epoch(0), {});
  for (uint64_t e = 1; e < 3; ++e) {
    for (uint32_t name = 0; name < 100; ++name) job.Read(name);
    const std::vector<uint64_t> before = job.binder().WantedSets();
    job.binder().BeginEpoch(Seed(1), Epoch(e), {});
    EXPECT_EQ(job.binder().WantedSets(), before);
  }
}

}  // namespace
}  // namespace shufflefs
