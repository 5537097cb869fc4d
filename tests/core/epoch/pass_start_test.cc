// SPDX-License-Identifier: Apache-2.0
// Names are never rebound in the middle of a pass, even where it is not known
// at first when the passes of a job begin.
#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/epoch/epoch_detector.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

using std::chrono::milliseconds;
using Names = std::vector<uint64_t>;

constexpr JobId kOne{5};
constexpr JobId kOther{6};

Names NamesFromTo(uint64_t begin, uint64_t end) {
  Names names(end - begin);
  std::iota(names.begin(), names.end(), begin);
  return names;
}

void Mix(Names& names, std::mt19937& random) {
  for (size_t i = names.size(); i > 1; --i) {
    std::swap(names[i - 1], names[random() % i]);
  }
}

// Jobs that read through a detector, a minute between two opens.
class Jobs {
 public:
  explicit Jobs(uint64_t names) : names_(names), detector_({.names = names}) {}
  explicit Jobs(EpochDetector::Options options)
      : names_(options.names), detector_(options) {}

  EpochDetector* operator->() { return &detector_; }
  void SetOlder(JobId job) { older_.insert(job); }
  void End(JobId job) { gone_.insert(job); }

  // Reads names of one pass. `before`: what the pass had before, that must not
  // be bound to other samples. Returns how often names were rebound.
  int Read(JobId job, const Names& names, const Names& before = {}) {
    absl::flat_hash_set<uint64_t> had(before.begin(), before.end());
    int rebound = 0;
    for (const uint64_t name : names) {
      now_ += milliseconds(60'000);
      had.insert(name);
      const EpochOutcome outcome = detector_.OnOpen(
          {.name = name,
           .job = job,
           .reader = 7,
           .time = now_,
           .older = older_.contains(job)},
          [this](JobId other) { return !gone_.contains(other); });
      if (outcome.verdict != Verdict::kRebind) continue;
      ++rebound;
      for (const uint64_t kept : outcome.retained) had.erase(kept);
      EXPECT_TRUE(had.empty())
          << "rule " << outcome.rule << " at " << name << " gives "
          << had.size() << " names that this pass had other samples";
      had.insert(outcome.retained.begin(), outcome.retained.end());
    }
    return rebound;
  }
  // Whole passes. Shuffled anew each time if there is a generator.
  int ReadPasses(JobId job, int passes, std::mt19937* random = nullptr) {
    int rebound = 0;
    Names names = NamesFromTo(0, names_);
    for (int i = 0; i < passes; ++i) {
      if (random != nullptr) Mix(names, *random);
      rebound += Read(job, names);
    }
    return rebound;
  }

 private:
  const uint64_t names_;
  EpochDetector detector_;
  milliseconds now_{0};
  absl::flat_hash_set<JobId> older_;
  absl::flat_hash_set<JobId> gone_;
};

TEST(PassStartTest, WhatIsDueIsReadBeforeTheResumedPassEnds) {
  Jobs jobs(2000);
  jobs->Resume(NamesFromTo(0, 2000), 0, NamesFromTo(1600, 2000));
  EXPECT_EQ(jobs.Read(kOne, NamesFromTo(1600, 2000), NamesFromTo(0, 1600)), 0);
  EXPECT_EQ(jobs.ReadPasses(kOne, 1), 1) << "the next pass ends it";
}

// A job saved its token after `saved` names, read on, died, and reads again
// from before the token, because its loader had read ahead.
TEST(PassStartTest, AJobThatResumedIsNeverCutInTwo) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    const uint64_t names = 64 + random() % 3000;
    const uint64_t saved = 1 + random() % (names - 1);
    const uint64_t read = saved + random() % (names - saved + 1);
    const uint64_t from = saved - std::min(saved, uint64_t{random() % 100});
    Names order = NamesFromTo(0, names);
    const bool is_fixed = round % 2 == 0;
    if (!is_fixed) Mix(order, random);
    const auto at = [&](uint64_t i) {
      return order.begin() + static_cast<long>(i);
    };
    Jobs jobs(names);
    jobs->Resume(Names(order.begin(), at(read)), 0, Names(at(saved), at(read)));
    EXPECT_EQ(jobs.Read(kOne, Names(at(from), order.end()),
                        Names(order.begin(), at(from))),
              0);
    if (is_fixed) {
      for (int pass = 0; pass < 4; ++pass) jobs.Read(kOne, order);
    } else {
      jobs.ReadPasses(kOne, 4, &random);
    }
  }
}

TEST(PassStartTest,
     WithoutTheNamesThatAreDueNoBoundaryOfAFixedOrderIsBelieved) {
  Jobs jobs(2000);
  jobs->Resume(NamesFromTo(0, 2000), 0);
  jobs->DoubtStart();
  EXPECT_EQ(jobs.Read(kOne, NamesFromTo(1600, 2000), NamesFromTo(0, 1600)), 0);
  EXPECT_EQ(jobs.ReadPasses(kOne, 4), 0);
  Jobs others(2000);
  others->Resume(NamesFromTo(0, 2000), 0);
  others->DoubtStart();
  std::mt19937 random(1);
  others.Read(kOne, NamesFromTo(1600, 2000), NamesFromTo(0, 1600));
  EXPECT_GT(others.ReadPasses(kOne, 6, &random), 0) << "an order tells";
}

// The owner ends while another job is in the middle of a pass.
TEST(PassStartTest, AForeignJobThatBecomesTheOwnerIsNotCutInTwo) {
  for (const uint64_t at : {20u, 500u, 1900u}) {
    SCOPED_TRACE(at);
    Jobs jobs(2000);
    jobs.Read(kOne, NamesFromTo(0, 100));
    jobs.Read(kOther, NamesFromTo(0, at));
    jobs.End(kOne);
    EXPECT_EQ(jobs.Read(kOther, NamesFromTo(at, 2000), NamesFromTo(0, at)), 0);
    EXPECT_EQ(jobs.ReadPasses(kOther, 4), 0);

    // The next job begins where it begins.
    jobs.End(kOther);
    EXPECT_GT(jobs.ReadPasses(JobId{7}, 3), 0);
  }
}

EpochDetector::Past HalfRead() {
  return {.seen = NamesFromTo(0, 1000), .owner_unknown = true};
}

// The daemon was killed while a job was silent, and somebody looks in.
TEST(PassStartTest, WhoPassesByAfterARestartEndsNoPass) {
  for (const uint64_t looks_at : {1u, 20u, 900u, 2000u}) {
    SCOPED_TRACE(looks_at);
    Jobs jobs(2000);
    jobs->Restore(HalfRead());
    jobs.SetOlder(kOne);
    jobs.Read(kOther, NamesFromTo(0, looks_at));
    jobs.End(kOther);
    EXPECT_EQ(jobs.Read(kOne, NamesFromTo(1000, 2000), NamesFromTo(0, 1000)),
              0);
    jobs.ReadPasses(kOne, 4);
  }
}

TEST(PassStartTest, WhoReadsOnAfterARestartEndsItsPassAsBefore) {
  Jobs jobs(2000);
  jobs->Restore(HalfRead());
  jobs.SetOlder(kOne);
  EXPECT_EQ(jobs.Read(kOne, NamesFromTo(1000, 2000), NamesFromTo(0, 1000)), 0);
  EXPECT_EQ(jobs.ReadPasses(kOne, 3), 3);
}

TEST(PassStartTest, AJobThatBeganAfterARestartIsHeldOnce) {
  Jobs jobs(2000);
  jobs->Restore(HalfRead());
  EXPECT_EQ(jobs.Read(kOne, NamesFromTo(1000, 2000), NamesFromTo(0, 1000)), 0);
  EXPECT_EQ(jobs.ReadPasses(kOne, 1), 0);
  EXPECT_EQ(jobs.ReadPasses(kOne, 3), 3);
}

}  // namespace
}  // namespace shufflefs
