// SPDX-License-Identifier: Apache-2.0
// The rules of the epoch detector one by one.
#include "core/epoch/epoch_detector.h"

#include "absl/container/flat_hash_set.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

constexpr JobId kJob{1};
constexpr JobId kOther{2};

// A detector whose clock runs a second an open, and whose jobs live until
// they are ended.
class Fixture {
 public:
  explicit Fixture(EpochDetector::Options options) : detector_(options) {}
  explicit Fixture(uint64_t names)
      : Fixture(EpochDetector::Options{.names = names}) {}

  EpochOutcome Open(uint64_t name, JobId job = kJob, uint32_t reader = 10) {
    now_ += step_;
    return detector_.OnOpen({name, job, reader, now_},
                            [this](JobId f) { return !gone_.contains(f); });
  }
  // Opens [begin, end); the verdict of the last.
  EpochOutcome OpenAll(uint64_t begin, uint64_t end) {
    EpochOutcome last;
    for (uint64_t name = begin; name < end; ++name) {
      if (last.verdict != Verdict::kNone)
        ADD_FAILURE() << "verdict at " << name;
      last = Open(name);
    }
    return last;
  }
  void End(JobId job) { gone_.insert(job); }
  void SetStep(std::chrono::milliseconds step) { step_ = step; }
  EpochDetector& operator*() { return detector_; }
  EpochDetector* operator->() { return &detector_; }

 private:
  EpochDetector detector_;
  std::chrono::milliseconds now_{0};
  std::chrono::milliseconds step_{1000};
  absl::flat_hash_set<JobId> gone_;
};

TEST(RuleATest, NeedsEveryNameAndThenMoreReopensThanPadding) {
  Fixture f(300);
  EXPECT_EQ(f.OpenAll(0, 300).verdict, Verdict::kNone);
  EXPECT_EQ(f->seen_count(), 300);
  EXPECT_EQ(f.OpenAll(0, 7).verdict, Verdict::kNone);
  const EpochOutcome outcome = f.Open(7);
  EXPECT_EQ(outcome.verdict, Verdict::kRebind);
  EXPECT_EQ(outcome.rule, 'a');
  EXPECT_EQ(outcome.ended_seen, 300);
  // The last two may have been the first of a pass that left others out.
  EXPECT_THAT(outcome.retained, ElementsAre(298, 299, 0, 1, 2, 3, 4, 5, 6, 7));
  // What was opened since the start of the new pass belongs to it.
  std::vector<uint64_t> seen;
  f->ForEachSeen([&](uint64_t name) { seen.push_back(name); });
  EXPECT_THAT(seen, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(f->seen_count(), 8);
}

TEST(RuleATest, OneReopenIsEnoughAfterTwoExactPasses) {
  Fixture f(300);
  f.OpenAll(0, 300);
  EXPECT_EQ(f.OpenAll(0, 8).verdict, Verdict::kRebind);
  f.OpenAll(8, 300);
  EXPECT_EQ(f.OpenAll(0, 8).verdict, Verdict::kRebind);
  f.OpenAll(8, 300);
  const EpochOutcome third = f.Open(0);
  EXPECT_EQ(third.verdict, Verdict::kRebind);
  EXPECT_THAT(third.retained, ElementsAre(0));
}

// The name that was left out comes first in the next pass, so that the pass
// before looks whole.
TEST(RuleATest, APassThatLeavesOutANameMayBeginWithIt) {
  for (const uint64_t left_out : {1, 2}) {
    Fixture f(57);
    f.OpenAll(0, 57 - left_out);
    for (uint64_t name = 57 - left_out; name < 57; ++name) f.Open(name);
    EpochOutcome outcome;
    for (uint64_t name = 0; outcome.verdict == Verdict::kNone; ++name) {
      ASSERT_LT(name, 57u);
      outcome = f.Open(name);
    }
    EXPECT_EQ(outcome.verdict, Verdict::kRebind);
    EXPECT_THAT(outcome.retained, Contains(56));
    if (left_out == 2) EXPECT_THAT(outcome.retained, Contains(55));
  }
}

TEST(RuleATest, AViewWhoseSamplesRepeatKeepsNoNameInDoubt) {
  Fixture f({.names = 57, .may_leave_out = false});
  f.OpenAll(0, 57);
  EXPECT_THAT(f.Open(0).retained, ElementsAre(0));
}

TEST(RuleATest, PaddingIsWhatTheOptionSays) {
  EpochDetector::Options options{.names = 300, .pad = 3};
  Fixture f(options);
  f.OpenAll(0, 300);
  EXPECT_EQ(f.OpenAll(0, 2).verdict, Verdict::kNone);
  EXPECT_EQ(f.Open(2).verdict, Verdict::kRebind);
}

TEST(RuleATest, ServesViewsOfAFewNamesAlone) {
  for (const uint64_t names : {2, 10, 63}) {
    SCOPED_TRACE(names);
    Fixture f(names);
    f.SetStep(std::chrono::seconds(20));
    f.OpenAll(0, names - 1);
    // Half the opens are re-opens, but the pass is not complete.
    for (int i = 0; i < 50; ++i) {
      ASSERT_EQ(f.Open(static_cast<uint64_t>(i) % (names - 1)).verdict,
                Verdict::kNone);
    }
    EXPECT_EQ(f.Open(names - 1).verdict, Verdict::kNone);
    // Every other name was re-opened before: only the last is new evidence.
    EXPECT_NE(f.Open(names - 1).verdict, Verdict::kNone);
  }
}

TEST(DoubleOpenTest, IsNoEvidenceHoweverOften) {
  Fixture f(300);
  f.SetStep(std::chrono::milliseconds(1));
  for (uint64_t name = 0; name < 300; ++name) {
    EXPECT_EQ(f.Open(name).open, OpenClass::kFresh);
    for (int again = 0; again < 2; ++again) {
      const EpochOutcome outcome = f.Open(name);
      EXPECT_EQ(outcome.open, OpenClass::kDouble);
      EXPECT_EQ(outcome.verdict, Verdict::kNone);
    }
  }
  EXPECT_EQ(f->seen_count(), 300);
}

TEST(DoubleOpenTest, OfTheLastNameDoesNotCountForTheNextPass) {
  Fixture f(300);
  f.OpenAll(0, 300);
  EXPECT_EQ(f.Open(299).open, OpenClass::kDouble);
  const EpochOutcome outcome = f.OpenAll(0, 8);
  ASSERT_EQ(outcome.verdict, Verdict::kRebind);
  EXPECT_THAT(outcome.retained, Contains(299));
  EXPECT_FALSE(f->seen(299));
  EXPECT_EQ(f->seen_count(), 8);
}

TEST(DoubleOpenTest, EndsWithItsAge) {
  EpochDetector::Options options{.names = 300,
                                 .double_open = std::chrono::seconds(3)};
  Fixture f(options);
  f.OpenAll(0, 10);
  EXPECT_EQ(f.Open(9).open, OpenClass::kDouble);
  EXPECT_EQ(f.Open(7).open, OpenClass::kReopen);
  EXPECT_EQ(f.Open(6).open, OpenClass::kReopen);
  f.OpenAll(10, 20);
  EXPECT_EQ(f.Open(7).open, OpenClass::kStray);
}

// Then nobody was shown anything of the name in the new pass.
TEST(BeginsPassTest, IsTheFirstOpenOfItsNameSinceTheBoundary) {
  Fixture f(300);
  f.OpenAll(0, 300);
  const EpochOutcome by_completion = f.OpenAll(0, 8);
  ASSERT_EQ(by_completion.verdict, Verdict::kRebind);
  EXPECT_TRUE(by_completion.begins_pass);

  // Where the epoch is held, names keep what they show.
  Fixture half(1000);
  half.OpenAll(0, 500);
  EpochOutcome outcome;
  for (uint64_t name = 0; outcome.verdict == Verdict::kNone && name < 450;) {
    outcome = half.Open(name++);
  }
  ASSERT_EQ(outcome.verdict, Verdict::kHold);
  EXPECT_EQ(outcome.open, OpenClass::kReopen);
  EXPECT_FALSE(outcome.begins_pass);
}

TEST(RuleBTest, EndsAPassThatLeavesSomeOut) {
  Fixture f(1000);
  f.OpenAll(0, 960);
  uint64_t name = 0;
  EpochOutcome outcome;
  while (outcome.verdict == Verdict::kNone && name < 500) {
    outcome = f.Open(name++);
  }
  EXPECT_EQ(outcome.verdict, Verdict::kRebind);
  EXPECT_EQ(outcome.rule, 'b');
  EXPECT_EQ(outcome.ended_seen, 960);
  // Three windows of 1000/32 opens had to hold hardly a fresh one.
  EXPECT_GE(name, 80);
  EXPECT_LE(name, 110);
  // Names from before the start are retained as well: fresh ones of the new
  // pass may have come before its first re-open.
  EXPECT_GE(outcome.retained.size(), name + 8);
}

TEST(RuleBTest, FollowsTheConfiguredLengthAtOnce) {
  EpochDetector::Options options{.names = 1000, .epoch_length = 500};
  Fixture f(options);
  f.OpenAll(0, 500);
  EpochOutcome outcome;
  uint64_t name = 0;
  while (outcome.verdict == Verdict::kNone && name < 300) {
    outcome = f.Open(name++);
  }
  EXPECT_EQ(outcome.verdict, Verdict::kRebind);
  EXPECT_EQ(outcome.rule, 'b');
}

TEST(RuleCTest, HoldsAndLearnsAfterThreePasses) {
  Fixture f(1000);
  f.OpenAll(0, 500);
  std::vector<char> rules;
  std::vector<Verdict> verdicts;
  for (int pass = 0; pass < 4; ++pass) {
    for (uint64_t name = 0; name < 500; ++name) {
      const EpochOutcome outcome = f.Open(name);
      if (outcome.verdict == Verdict::kNone) continue;
      rules.push_back(outcome.rule);
      verdicts.push_back(outcome.verdict);
      if (outcome.verdict == Verdict::kHold) {
        EXPECT_EQ(outcome.reason, HoldReason::kPartial);
        EXPECT_THAT(outcome.retained, ::testing::IsEmpty());
      } else {
        EXPECT_EQ(outcome.reason, HoldReason::kNone);
      }
    }
  }
  EXPECT_THAT(rules, ElementsAre('c', 'c', 'c', 'b'));
  EXPECT_THAT(verdicts, ElementsAre(Verdict::kHold, Verdict::kHold,
                                    Verdict::kHold, Verdict::kRebind));
  EXPECT_EQ(f->expected(), 500);
}

// [S-3.11d] What a passer-by opens moves nothing.
TEST(ForeignJobTest, MovesNothingButHoldsWhileItReads) {
  Fixture f(300);
  f.OpenAll(0, 150);
  for (uint64_t name = 0; name < 300; ++name) {
    EXPECT_EQ(f.Open(name, kOther).open, OpenClass::kForeignJob);
  }
  EXPECT_EQ(f->seen_count(), 150);
  f.OpenAll(150, 300);
  const EpochOutcome held = f.OpenAll(0, 8);
  EXPECT_EQ(held.verdict, Verdict::kHold);
  EXPECT_EQ(held.reason, HoldReason::kForeignJob);

  f.OpenAll(8, 150);
  f.Open(5, kOther);
  f.End(kOther);
  f.OpenAll(150, 300);
  EXPECT_EQ(f.OpenAll(0, 8).verdict, Verdict::kRebind);
}

TEST(ForeignJobTest, MoreThanCanBeNamedHold) {
  Fixture f(300);
  f.Open(0);
  for (uint64_t foreign_job = 100; foreign_job < 200; ++foreign_job) {
    f.Open(1, JobId(foreign_job));
  }
  for (uint64_t foreign_job = 100; foreign_job < 200; ++foreign_job) {
    f.End(JobId(foreign_job));
  }
  f.OpenAll(1, 300);
  EXPECT_EQ(f.OpenAll(0, 8).reason, HoldReason::kForeignJob);
}

// A shell loop that starts a process for each file.
TEST(ForeignJobTest, ManyThatHaveEndedHoldNothing) {
  Fixture f(300);
  f.OpenAll(0, 16);
  for (uint64_t foreign_job = 100; foreign_job < 200; ++foreign_job) {
    f.Open(1, JobId(foreign_job));
    f.End(JobId(foreign_job));
  }
  f.OpenAll(16, 300);
  EXPECT_EQ(f.OpenAll(0, 8).verdict, Verdict::kRebind);
}

TEST(ForeignJobTest, WhoOutreadsTheOwnerIsCountedFromItsFirstOpen) {
  Fixture f(300);
  f.OpenAll(0, 3);
  std::vector<uint64_t> foreign_jobs;
  for (uint64_t name = 2; name < 33; ++name) {
    EXPECT_EQ(f.Open(name, kOther).open, OpenClass::kForeignJob);
    if (name > 2) foreign_jobs.push_back(name);  // 2 had been counted
  }
  const EpochOutcome outcome = f.Open(33, kOther);
  EXPECT_EQ(outcome.open, OpenClass::kFresh);
  EXPECT_EQ(outcome.counted, foreign_jobs);
  EXPECT_EQ(f->seen_count(), 34);
}

// After a restart the epoch has many opens, but the owner has none of them.
TEST(ForeignJobTest, WhoOutreadsThePasserByOfARestartedEpochOwnsIt) {
  Fixture f(300);
  std::vector<uint64_t> before;
  for (uint64_t name = 0; name < 180; ++name) before.push_back(name);
  f->Restore({before, {}, false});
  f.Open(7);
  for (uint64_t name = 180; name < 300; ++name) f.Open(name, kOther);
  EXPECT_EQ(f->seen_count(), 300);
  EpochOutcome outcome;
  for (uint64_t name = 0; name < 8; ++name) {
    outcome = f.Open(name, kOther);
    if (outcome.verdict != Verdict::kNone) break;
  }
  // The one that opened a file lives, so it is asked for a new epoch by hand.
  EXPECT_EQ(outcome.verdict, Verdict::kHold);
}

TEST(TakeoverTest, RebindsWhenTheOwnerIsGone) {
  Fixture f(300);
  f.OpenAll(0, 100);
  f.End(kJob);
  const EpochOutcome outcome = f.Open(42, kOther);
  EXPECT_EQ(outcome.verdict, Verdict::kRebind);
  EXPECT_EQ(outcome.rule, 't');
  EXPECT_EQ(outcome.ended_seen, 100);
  EXPECT_THAT(outcome.retained, ElementsAre(42));
  EXPECT_EQ(f->seen_count(), 1);
  EXPECT_EQ(f.Open(43, kOther).open, OpenClass::kFresh);
}

TEST(TakeoverTest, HoldsWhenTheNewOwnerHadBeenReading) {
  Fixture f(300);
  f.OpenAll(0, 100);
  f.Open(7, kOther);
  f.End(kJob);
  const EpochOutcome outcome = f.Open(8, kOther);
  EXPECT_EQ(outcome.verdict, Verdict::kHold);
  EXPECT_EQ(outcome.rule, 't');
  EXPECT_EQ(outcome.reason, HoldReason::kForeignJob);
}

TEST(TakeoverTest, HoldsWhenTheOldOwnerWasHidden) {
  Fixture f(300);
  for (uint64_t name = 0; name < 100; ++name) f.Open(name, kHiddenJob, 0);
  f.End(kHiddenJob);
  EXPECT_EQ(f.Open(8, kOther).verdict, Verdict::kHold);
}

// for f in *; do md5sum $f; done: a process a file is one pass.
TEST(TakeoverTest, AProcessAFileIsNoBoundary) {
  Fixture f(300);
  for (uint64_t name = 0; name < 300; ++name) {
    const JobId job(100 + name);
    ASSERT_EQ(f.Open(name, job).verdict, Verdict::kNone) << name;
    f.End(job);
  }
  EXPECT_EQ(f->seen_count(), 300);
}

TEST(SignalTest, RebindsWithNothingRetainedAndForgets) {
  Fixture f(300);
  EXPECT_EQ(f->OnSignal().verdict, Verdict::kNone);  // nothing was opened
  for (int pass = 0; pass < 2; ++pass) {
    f.OpenAll(pass == 0 ? 0 : 8, 300);
    f.OpenAll(0, 8);
  }
  const EpochOutcome outcome = f->OnSignal();
  EXPECT_EQ(outcome.verdict, Verdict::kRebind);
  EXPECT_EQ(outcome.rule, 's');
  EXPECT_EQ(outcome.ended_seen, 8);
  EXPECT_THAT(outcome.retained, ::testing::IsEmpty());
  EXPECT_EQ(f->seen_count(), 0);
  // Eight re-opens prove a boundary again, not one.
  f.OpenAll(0, 300);
  EXPECT_EQ(f.OpenAll(0, 7).verdict, Verdict::kNone);
  EXPECT_EQ(f.Open(7).verdict, Verdict::kRebind);
}

TEST(RestoreTest, GoesOnWithTheEpoch) {
  Fixture f(300);
  std::vector<uint64_t> seen;
  for (uint64_t name = 0; name < 200; ++name) seen.push_back(name);
  f->Restore({.seen = seen});
  EXPECT_EQ(f->seen_count(), 200);
  f.OpenAll(200, 300);
  const EpochOutcome outcome = f.OpenAll(0, 8);
  EXPECT_EQ(outcome.verdict, Verdict::kRebind);
  EXPECT_THAT(outcome.retained, ElementsAre(298, 299, 0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(RestoreTest, OfACompleteEpochEndsItByTheNextOpens) {
  Fixture f(300);
  std::vector<uint64_t> seen;
  for (uint64_t name = 0; name < 300; ++name) seen.push_back(name);
  f->Restore({.seen = seen});
  const EpochOutcome outcome = f.OpenAll(0, 8);
  EXPECT_EQ(outcome.verdict, Verdict::kRebind);
  EXPECT_THAT(outcome.retained, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

// The same re-opens end the epoch, and the same names are retained, wherever a
// daemon ended in between.
TEST(RestoreTest, OpensThatAreReplayedCountAsTheyDid) {
  for (uint64_t before = 0; before < 8; ++before) {
    SCOPED_TRACE(before);
    Fixture f(300);
    EpochDetector::Past past;
    for (uint64_t name = 0; name < 300; ++name) past.seen.push_back(name);
    f->Restore(past);
    for (uint64_t name = 0; name < before; ++name) {
      f->Replay(name, OpenClass::kReopen);
    }
    const EpochOutcome outcome = f.OpenAll(before, 8);
    EXPECT_EQ(outcome.verdict, Verdict::kRebind);
    EXPECT_THAT(outcome.retained, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
    EXPECT_EQ(f->seen_count(), 8);
  }
}

// Who was answered when the daemon ended asks again.
TEST(RestoreTest, TheLastOpensMayComeTwice) {
  Fixture f(300);
  EpochDetector::Past past;
  for (uint64_t name = 0; name < 299; ++name) past.seen.push_back(name);
  f->Restore(past);
  f->Replay(299, OpenClass::kFresh);
  EXPECT_EQ(f->seen_count(), 300);
  EXPECT_EQ(f.Open(299).open, OpenClass::kDouble);
}

TEST(RestoreTest, AnEpochOfWhichNotAllIsKnownIsHeld) {
  Fixture f(300);
  EpochDetector::Past past;
  for (uint64_t name = 0; name < 300; ++name) past.seen.push_back(name);
  past.stray = 15;
  f->Restore(past);
  const EpochOutcome outcome = f.OpenAll(0, 8);
  EXPECT_EQ(outcome.verdict, Verdict::kHold);
  EXPECT_EQ(outcome.reason, HoldReason::kStray);

  Fixture g(300);
  past.stray = 0;
  past.began_unexplained = true;
  g->Restore(past);
  EXPECT_EQ(g.OpenAll(0, 8).reason, HoldReason::kUntrusted);
}

TEST(EdgeTest, NoNamesAndOneName) {
  EpochDetector none({});
  EXPECT_EQ(none.seen_count(), 0);
  EXPECT_EQ(none.OnSignal().verdict, Verdict::kNone);

  Fixture one(1);
  EXPECT_EQ(one.Open(0).verdict, Verdict::kNone);
  EXPECT_EQ(one.Open(0).open, OpenClass::kDouble);
  one.SetStep(std::chrono::seconds(60));
  const EpochOutcome outcome = one.Open(0);
  EXPECT_EQ(outcome.verdict, Verdict::kRebind);
  EXPECT_THAT(outcome.retained, ElementsAre(0));
}

}  // namespace
}  // namespace shufflefs
