// SPDX-License-Identifier: Apache-2.0
// Epochs that a job goes on with: when they end, and what that tells.
#include <algorithm>
#include <random>
#include <vector>

#include "core/binding/resumed_names.h"
#include "core/epoch/epoch_detector.h"
#include "core/epoch/split_suspicion.h"
#include "gmock/gmock.h"

namespace shufflefs {
namespace {

using OpenedNames = std::vector<uint64_t>;
using std::chrono::milliseconds;

constexpr uint64_t kPassNames = 2000;

OpenedNames NamesInOrder(uint32_t seed, uint64_t count = kPassNames) {
  OpenedNames names(count);
  std::mt19937 random(seed);
  for (uint64_t i = 0; i < count; ++i) names[i] = i;
  for (uint64_t i = count; i > 1; --i) {
    std::swap(names[i - 1], names[random() % i]);
  }
  return names;
}

OpenedNames SliceOf(const OpenedNames& names, uint64_t from, uint64_t to) {
  return OpenedNames(names.begin() + static_cast<long>(from),
                     names.begin() + static_cast<long>(to));
}

// A reader that opens each name once, minutes apart.
struct ResumedJob {
  explicit ResumedJob(uint64_t names = kPassNames)
      : detector({.names = names}) {}

  // The position, from 0, of the open that brought a verdict; -1 for none.
  int Read(const OpenedNames& names, Verdict wanted = Verdict::kRebind) {
    int at = -1;
    for (size_t i = 0; i < names.size(); ++i) {
      now += milliseconds(60'000);
      const EpochOutcome outcome = detector.OnOpen(
          {.name = names[i], .job = job, .reader = 7, .time = now},
          [](JobId) { return true; });
      if (outcome.verdict == Verdict::kNone) continue;
      EXPECT_EQ(outcome.verdict, wanted) << HoldReasonName(outcome.reason);
      EXPECT_EQ(at, -1) << "a second verdict at " << i;
      at = static_cast<int>(i);
      retained = outcome.retained;
    }
    return at;
  }

  EpochDetector detector;
  JobId job{5};
  milliseconds now{0};
  OpenedNames retained;
};

TEST(ResumedEpochTest, TheNextPassEndsItWhereverItWasCut) {
  for (const uint64_t cut : {10u, 900u, 1700u, 1990u, 1999u}) {
    SCOPED_TRACE(cut);
    const OpenedNames order = NamesInOrder(1);
    ResumedJob job;
    job.detector.Resume(SliceOf(order, 0, cut), 0);
    EXPECT_EQ(job.detector.opened_count(), cut);
    EXPECT_EQ(job.Read(SliceOf(order, cut, kPassNames)), -1);
    const OpenedNames next = NamesInOrder(2);
    const int at = job.Read(next);
    ASSERT_GE(at, 0);
    EXPECT_LT(at, 9);
    EXPECT_THAT(job.retained, testing::IsSupersetOf(SliceOf(
                                  next, 0, static_cast<uint64_t>(at) + 1)));
    EXPECT_GE(job.Read(NamesInOrder(3)), 0);
  }
}

TEST(ResumedEpochTest, OfAWholeEpochTheFirstOpensAreOfTheNext) {
  ResumedJob job;
  job.detector.Resume(NamesInOrder(1), 0);
  const int at = job.Read(NamesInOrder(2));
  EXPECT_GE(at, 0);
  EXPECT_LT(at, 9);
}

TEST(ResumedEpochTest, WhatALoaderReadAheadIsNoNewPass) {
  const OpenedNames order = NamesInOrder(1);
  ResumedJob job;
  job.detector.Resume(SliceOf(order, 0, 1950), 0);
  EXPECT_EQ(job.Read(SliceOf(order, 1600, kPassNames)), -1);
  EXPECT_EQ(job.detector.opened_count(), kPassNames);
  const int at = job.Read(NamesInOrder(2));
  EXPECT_GE(at, 0);
  EXPECT_LT(at, 9);
}

TEST(ResumedEpochTest, AJobThatReadsAllNamesAnewIsNotCutInTwo) {
  for (const uint64_t cut : {10u, 900u, 1700u, 1990u}) {
    SCOPED_TRACE(cut);
    ResumedJob job;
    job.detector.Resume(SliceOf(NamesInOrder(1), 0, cut), 0);
    EXPECT_EQ(job.Read(NamesInOrder(2)), -1);
  }
}

TEST(ResumedEpochTest, WithAPositionAloneNoPassIsCutInTwoEither) {
  for (const uint64_t cut : {10u, 900u, 1990u}) {
    SCOPED_TRACE(cut);
    const OpenedNames order = NamesInOrder(1);
    ResumedJob skips, does_not;
    skips.detector.Resume({}, cut);
    EXPECT_EQ(skips.Read(SliceOf(order, cut, kPassNames)), -1);
    EXPECT_EQ(skips.detector.opened_count(), kPassNames);
    does_not.detector.Resume({}, cut);
    EXPECT_EQ(does_not.Read(NamesInOrder(2)), -1);
  }
}

TEST(ResumedEpochTest, WithAPositionInTheMiddleTheNextPassIsFound) {
  const OpenedNames order = NamesInOrder(1);
  ResumedJob job;
  job.detector.Resume({}, 900);
  EXPECT_EQ(job.Read(SliceOf(order, 900, kPassNames)), -1);
  const OpenedNames next = NamesInOrder(2);
  const int at = job.Read(next);
  ASSERT_GE(at, 0);
  EXPECT_LT(at, 40);
  EXPECT_THAT(job.retained, testing::IsSupersetOf(SliceOf(
                                next, 0, static_cast<uint64_t>(at) + 1)));
}

TEST(ResumedNamesTest, CountsWhatWasNotOpenedSince) {
  ResumedNames names;
  names.Begin(10, {1, 3, 3, 5}, 2);
  EXPECT_EQ(names.count(), 5u);
  EXPECT_TRUE(names.Knows(3));
  EXPECT_FALSE(names.Knows(2));
  names.TakeKnown(3);
  EXPECT_FALSE(names.Knows(3));
  names.TakeUnknown();
  EXPECT_EQ(names.count(), 3u);
  names.Clear();
  EXPECT_EQ(names.count(), 0u);
  EXPECT_FALSE(names.Knows(1));
}

TEST(ResumedNamesTest, TakesNoMoreThanThereAreNames) {
  ResumedNames names;
  names.Begin(4, {1, 2}, 100);
  EXPECT_EQ(names.count(), 4u);
}

TEST(ResumedSuspicionTest, TheEpochThatWasResumedIsNoEvidenceButTheNextIs) {
  SplitSuspicion suspicion({.names = kPassNames});
  suspicion.Resume();
  EXPECT_EQ(suspicion.AtBoundary('a', kPassNames / 2, 0), Suspicion::kNone);
  EXPECT_EQ(suspicion.AtBoundary('a', kPassNames / 2, 0), Suspicion::kUnopened);
}

}  // namespace
}  // namespace shufflefs
