// SPDX-License-Identifier: Apache-2.0
// The opens of containers around a boundary of their passes.
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/view/view.h"
#include "gtest/gtest.h"
#include "tests/core/base/full_disk.h"
#include "tests/core/records/content/record_producer_fixture.h"
#include "tests/core/view/container_setup.h"
#include "tests/core/view/restarted_pass.h"

namespace shufflefs {
namespace {

using testing_support::Blocks;
using testing_support::ContainerConfig;
using testing_support::ContainerParts;
using testing_support::ContainerTools;
using testing_support::RestartedPassTest;
using testing_support::TempTree;
using testing_support::TestPool;
using Verdict = View::OpenVerdict;

constexpr uint64_t kBytes = 1000000;

PassTracker::OpenIs OpenHidden(RecordEpoch& epoch, EntryId file) {
  return epoch.Open(file, PassReader{}, [](uint32_t) { return false; });
}

// A view of one container, a.bin, that was read through by thread kReader.
class ViewRecordsTest : public ::testing::Test {
 protected:
  static constexpr int32_t kReader = 7;
  static constexpr int32_t kOther = 8;

  virtual ViewConfig Config() { return ContainerConfig(); }

  void SetUp() override {
    tree_.File("a.bin", std::string(kBytes, 'x'));
    auto catalogue = std::make_shared<const Catalogue>(tree_.Scanned());
    file_ = *catalogue->FindPath("a.bin");
    auto parts = ContainerParts(
        Config(), catalogue, ContainerTools(tree_, test_.pool), job_tracker_);
    ASSERT_TRUE(parts.ok()) << parts.status();
    parts->on_rebind = [this](bool) { ++rebound_; };
    view_ = std::make_unique<View>(*std::move(parts));
    ReadThrough();
  }

  void ReadThrough() {
    const std::shared_ptr<RecordEpoch> epoch = view_->LookupContainer(file_);
    ASSERT_NE(epoch, nullptr);
    ASSERT_EQ(view_->OpenContainer(file_, *epoch, kReader), Verdict::kServe);
    for (uint64_t at = 0; at < kBytes; at += 100000) {
      epoch->Read(file_, at, 100000,
                  [](absl::StatusOr<absl::Span<const iovec>> got) {
                    EXPECT_TRUE(got.ok()) << got.status();
                  });
      test_.asked->ComeAll();
    }
  }

  TempTree tree_;
  TestPool test_{64 << 20};
  JobTracker job_tracker_;
  EntryId file_;
  int rebound_ = 0;
  std::unique_ptr<View> view_;
};

TEST_F(ViewRecordsTest, ANewPassIsLookedUpAgain) {
  const std::shared_ptr<RecordEpoch> first = view_->records();
  first->Close(file_);
  EXPECT_EQ(view_->OpenContainer(file_, *first, kReader), Verdict::kStale);
  EXPECT_EQ(rebound_, 1);
  const std::shared_ptr<RecordEpoch> second = view_->LookupContainer(file_);
  EXPECT_NE(first, second);
  EXPECT_EQ(view_->OpenContainer(file_, *second, kReader), Verdict::kServe);
  EXPECT_EQ(view_->EpochStatus().epoch, Epoch(1));
}

// Both are asked once more, as the file may be held open. Between the lookup of
// the one and its open the other begins the pass: no third lookup is made.
TEST_F(ViewRecordsTest, ASecondOpenIsServedWhateverHappenedSinceItsLookup) {
  const std::shared_ptr<RecordEpoch> first = view_->records();
  EXPECT_EQ(view_->OpenContainer(file_, *first, kReader), Verdict::kStale);
  EXPECT_EQ(view_->OpenContainer(file_, *first, kOther), Verdict::kStale);
  ASSERT_EQ(view_->LookupContainer(file_), first);
  first->Close(file_);
  const std::shared_ptr<RecordEpoch> second = view_->LookupContainer(file_);
  ASSERT_NE(first, second);
  EXPECT_EQ(view_->OpenContainer(file_, *second, kOther), Verdict::kServe);
  EXPECT_EQ(view_->OpenContainer(file_, *first, kReader), Verdict::kServe);
  EXPECT_EQ(view_->EpochStatus().epoch, Epoch(1));
  // Believed once: whoever holds the old name longer looks it up.
  EXPECT_EQ(view_->OpenContainer(file_, *first, kReader), Verdict::kStale);
}

// The descriptor that held the pass back was closed after the lookup.
TEST_F(ViewRecordsTest, ASecondOpenMayItselfBeginThePass) {
  const std::shared_ptr<RecordEpoch> first = view_->records();
  EXPECT_EQ(view_->OpenContainer(file_, *first, kReader), Verdict::kStale);
  ASSERT_EQ(view_->LookupContainer(file_), first);
  first->Close(file_);
  EXPECT_EQ(view_->OpenContainer(file_, *first, kReader), Verdict::kServe);
  EXPECT_EQ(rebound_, 1);
  EXPECT_NE(view_->LookupContainer(file_), first);
}

// The first reader of the new pass goes to a position: it knows where records
// were in the pass before.
TEST_F(ViewRecordsTest, APassForReadersThatKeepPositionsIsTakenBack) {
  const std::shared_ptr<RecordEpoch> first = view_->records();
  first->Close(file_);
  EXPECT_EQ(view_->OpenContainer(file_, *first, kReader), Verdict::kStale);
  const std::shared_ptr<RecordEpoch> second = view_->LookupContainer(file_);
  EXPECT_EQ(view_->OpenContainer(file_, *second, kReader), Verdict::kServe);
  EXPECT_EQ(view_->EpochStatus().epoch, Epoch(1));
  second->Read(file_, 500000, 4096,
               [](absl::StatusOr<absl::Span<const iovec>> got) {
                 EXPECT_TRUE(got.ok()) << got.status();
               });
  test_.asked->ComeAll();
  second->Close(file_);
  EXPECT_EQ(view_->OpenContainer(file_, *second, kReader), Verdict::kStale);
  EXPECT_EQ(rebound_, 2);
  EXPECT_EQ(view_->EpochStatus().epoch, Epoch(0));
  // It stays there, however often all is read.
  for (int pass = 0; pass < 3; ++pass) {
    ReadThrough();
    view_->records()->Close(file_);
    EXPECT_EQ(view_->EpochStatus().epoch, Epoch(0));
  }
}

// Otherwise the next pass would show one file of this epoch and one of the next
// one, and so would all later passes.
TEST_F(RestartedPassTest, APassGoesOnAfterARestart) {
  EXPECT_EQ(Read(0), Epoch(0));
  Start();
  EXPECT_EQ(Read(1), Epoch(0));
  for (uint64_t pass = 1; pass < 4; ++pass) {
    EXPECT_EQ(Read(0), Epoch(pass));
    EXPECT_EQ(Read(1), Epoch(pass));
  }
}

TEST_F(RestartedPassTest, APassThatEndedIsFollowedByTheNext) {
  EXPECT_EQ(Read(0), Epoch(0));
  EXPECT_EQ(Read(1), Epoch(0));
  Start();
  EXPECT_EQ(Read(1), Epoch(1));
  EXPECT_EQ(Read(0), Epoch(1));
}

// A job that was killed with the daemon may begin its pass anew.
TEST_F(RestartedPassTest, APassThatBeginsAnewIsOfOneEpoch) {
  EXPECT_EQ(Read(0), Epoch(0));
  Start();
  EXPECT_EQ(Read(0), Epoch(0));
  EXPECT_EQ(Read(1), Epoch(0));
  EXPECT_EQ(Read(0), Epoch(1));
}

// The epoch begins while the disk is full, and nothing else is written of it.
TEST_F(RestartedPassTest, APassThatWasReadOnAFullDiskGoesOnAfterARestart) {
  EXPECT_EQ(Read(0), Epoch(0));
  EXPECT_EQ(Read(1), Epoch(0));
  {
    const testing_support::FullDisk full(0);
    EXPECT_EQ(Read(0), Epoch(1));
  }
  Start();
  EXPECT_EQ(Read(1), Epoch(1));
  EXPECT_EQ(Read(0), Epoch(2));
}

// While names were passed through, the first of the two was read.
TEST_F(RestartedPassTest, APassThatBeganInTheSourceIsFollowedByAnEpoch) {
  for (const bool restarts : {false, true}) {
    StartAnew(ReadBefore::kSomething);
    EXPECT_EQ(view_->EpochStatus().state, "waiting");
    const std::shared_ptr<RecordEpoch> first = view_->records();
    EXPECT_EQ(OpenHidden(*first, files_[0]), PassTracker::OpenIs::kOfThisPass);
    first->NotePassed(files_[0], 0, kBytes);
    first->Close(files_[0]);
    if (restarts) Start();
    EXPECT_TRUE(ShowsSource());
    EXPECT_EQ(Read(1), Epoch(0));
    EXPECT_EQ(view_->EpochStatus().state, "waiting");
    for (uint64_t pass = 1; pass < 4; ++pass) {
      EXPECT_EQ(Read(0), Epoch(pass));
      EXPECT_FALSE(ShowsSource());
      EXPECT_EQ(Read(1), Epoch(pass));
      EXPECT_EQ(view_->EpochStatus().state, "running");
    }
  }
}

TEST_F(RestartedPassTest, APassOfUnknownBeginningEndsByHand) {
  StartAnew(ReadBefore::kUnknown);
  for (int run = 0; run < 3; ++run) {
    EXPECT_EQ(Read(1), Epoch(0));
    EXPECT_EQ(Read(0), Epoch(0));
    EXPECT_TRUE(ShowsSource());
    EXPECT_EQ(view_->EpochStatus().state, "waiting");
    EXPECT_EQ(view_->EpochStatus().warnings.size(), 1u);
    Start();
  }
  ControlRequest next;
  next.config = view_->config();
  next.next_epoch = true;
  ASSERT_EQ(Install(next), absl::OkStatus());
  EXPECT_EQ(view_->EpochStatus().warnings.size(), 0u);
  EXPECT_FALSE(ShowsSource());
  EXPECT_EQ(Read(1), Epoch(1));
  EXPECT_EQ(Read(0), Epoch(1));
  EXPECT_EQ(Read(0), Epoch(2));
}

// Something of the epoch was read, though not of the view.
TEST_F(RestartedPassTest, ASwitchWaitsForAPassThatBeganInTheSource) {
  StartAnew(ReadBefore::kSomething);
  ControlRequest change;
  change.config = view_->config();
  change.config.seed = Seed(7);
  change.config_changed = true;
  ASSERT_EQ(Install(change), absl::OkStatus());
  EXPECT_TRUE(ShowsSource());
  EXPECT_EQ(Read(0), Epoch(0));
  EXPECT_EQ(Read(1), Epoch(0));
  EXPECT_EQ(view_->setup()->config.seed, Seed(0));
  EXPECT_EQ(Read(0), Epoch(1));
  EXPECT_EQ(view_->setup()->config.seed, Seed(7));
}

// A job that resumes elsewhere goes on in the order in which it began.
TEST_F(RestartedPassTest, ATokenOfSuchAPassRestoresIt) {
  StartAnew(ReadBefore::kSomething);
  EpochToken token = view_->Token();
  EXPECT_TRUE(token.passed);
  StartAnew(ReadBefore::kNothing);
  EXPECT_FALSE(ShowsSource());
  ASSERT_EQ(*view_->GoesOnWith(token), false);
  View::Prepared prepared{view_->setup(), {}};
  ASSERT_EQ(view_->Restore(std::move(prepared), token), absl::OkStatus());
  EXPECT_TRUE(ShowsSource());
  EXPECT_EQ(view_->EpochStatus().state, "waiting");
}

// An epoch by path is not the live one, of which nothing was read.
TEST_F(ViewRecordsTest, AnOpenOfAFixedEpochDelaysNoSwitch) {
  ControlRequest next;
  next.config = view_->config();
  next.next_epoch = true;
  ASSERT_EQ(view_->Install(*view_->Prepare(next)), absl::OkStatus());
  const std::shared_ptr<RecordEpoch> fixed = view_->FixedRecords(Epoch(5));
  EXPECT_EQ(view_->OpenContainer(file_, *fixed, kReader), Verdict::kServe);
  ControlRequest change;
  change.config = view_->config();
  change.config.policy = "lirs";
  change.config_changed = true;
  ASSERT_EQ(view_->Install(*view_->Prepare(change)), absl::OkStatus());
  EXPECT_EQ(view_->setup()->policy->name(), "lirs");
  // An open of the live one is a read.
  EXPECT_EQ(view_->OpenContainer(file_, *view_->records(), kReader),
            Verdict::kServe);
  change.config.policy = "reimu";
  ASSERT_EQ(view_->Install(*view_->Prepare(change)), absl::OkStatus());
  EXPECT_EQ(view_->setup()->policy->name(), "lirs");
}

// Before the kernel is told to report opens. From then on nothing may begin
// that needs an answer to each.
TEST_F(ViewRecordsTest, WhatNeedsAnswersIsRefusedOnceOpensAreToBeReported) {
  EXPECT_FALSE(view_->PrepareReports());
  ControlRequest change;
  change.config = Config();
  change.config.policy = "native";
  change.config_changed = true;
  change.next_epoch = true;
  ASSERT_EQ(view_->Install(*view_->Prepare(change)), absl::OkStatus());
  EXPECT_TRUE(view_->PrepareReports());
  change.config = Config();
  EXPECT_TRUE(absl::IsInvalidArgument(view_->Prepare(change).status()));
  view_->ForgoReports();
  EXPECT_TRUE(view_->Prepare(change).ok());
}

// Or a write to all views would take effect in some of them.
TEST_F(ViewRecordsTest, NothingKeepsWhatWasCheckedFromBeingInstalled) {
  ControlRequest change;
  change.config = Config();
  change.config.policy = "native";
  change.config_changed = true;
  change.next_epoch = true;
  ASSERT_EQ(view_->Install(*view_->Prepare(change)), absl::OkStatus());
  change.config = Config();
  {
    auto refused = view_->Prepare(change);
    ASSERT_EQ(view_->CheckInstall(*refused), absl::OkStatus());
    EXPECT_FALSE(view_->PrepareReports());
  }
  EXPECT_TRUE(view_->PrepareReports());  // it was not installed
  view_->ForgoReports();
  auto late = view_->Prepare(change);
  EXPECT_TRUE(view_->PrepareReports());
  EXPECT_TRUE(absl::IsInvalidArgument(view_->CheckInstall(*late)));
  view_->ForgoReports();
  auto prepared = view_->Prepare(change);
  ASSERT_EQ(view_->CheckInstall(*prepared), absl::OkStatus());
  EXPECT_FALSE(view_->PrepareReports());
  EXPECT_EQ(view_->Install(*std::move(prepared)), absl::OkStatus());
  EXPECT_EQ(view_->setup()->policy->name(), Config().policy);
}

// Images beside the container, whose names move.
class MixedViewTest : public ViewRecordsTest {
 protected:
  ViewConfig Config() override {
    ViewConfig config = ContainerConfig();
    config.policy = "lirs";
    config.substitute = Substitute::kDirectory;
    return config;
  }
  void SetUp() override {
    tree_.Files({"c/1.jpg", "c/2.jpg", "c/3.jpg", "c/4.jpg"});
    ViewRecordsTest::SetUp();
  }
};

TEST_F(MixedViewTest, APassOverContainersEndsNoEpochOfSamples) {
  ASSERT_TRUE(view_->setup()->rebinds());
  const std::shared_ptr<RecordEpoch> epoch = view_->records();
  epoch->Close(file_);
  EXPECT_EQ(view_->OpenContainer(file_, *epoch, kReader), Verdict::kServe);
  EXPECT_EQ(view_->records(), epoch);
  EXPECT_EQ(rebound_, 0);
}

}  // namespace
}  // namespace shufflefs
