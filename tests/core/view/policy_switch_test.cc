// SPDX-License-Identifier: Apache-2.0
// Switches in mid-pass between policies that move names and policies that do
// not. Nobody but the opens says when a pass ends.
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/view/view.h"
#include "gmock/gmock.h"
#include "tests/core/records/content/record_producer_fixture.h"
#include "tests/core/view/container_setup.h"
#include "tests/core/view/view_fixture.h"

namespace shufflefs {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using testing_support::ViewFixture;

ControlRequest SwitchTo(const ViewConfig& config) {
  ControlRequest request;
  request.config = config;
  request.config_changed = true;
  return request;
}

// A job that reads all names in each pass. After every pass it checks that
// each sample came once, and that each name still shows what it did.
class SwitchedJob {
 public:
  static constexpr size_t kNames = 300;

  explicit SwitchedJob(const std::string& policy, bool sorted = false)
      : sorted_(sorted), random_(7) {
    view_ = fixture_.MakeView(ViewFixture::Config(policy));
    names_ = fixture_.Files();
  }

  View& view() { return *view_; }
  std::string policy() {
    return {view_->setup()->policy->name().data(),
            view_->setup()->policy->name().size()};
  }

  void Switch(const ViewConfig& config) {
    EXPECT_EQ(view_->Install(*view_->Prepare(SwitchTo(config))),
              absl::OkStatus());
  }
  void Switch(const std::string& policy) {
    Switch(ViewFixture::Config(policy));
  }

  void Signal() {
    ControlRequest next;
    next.config = view_->config();
    next.next_epoch = true;
    EXPECT_EQ(view_->Install(*view_->Prepare(next)), absl::OkStatus());
  }

  // Reads names up to the middle of the pass, or from there on.
  void FirstHalf() {
    if (!sorted_) testing_support::Shuffle(names_, random_);
    shown_.clear();
    Read(0, kNames / 2);
  }
  void SecondHalf() {
    Read(kNames / 2, kNames);
    std::set<EntryId> samples;
    for (const auto& [name, sample] : shown_) samples.insert(sample);
    EXPECT_EQ(samples.size(), kNames);
    for (const auto& [name, sample] : shown_) {
      EXPECT_EQ(view_->binding()->Shown(name), sample) << "it moved";
    }
  }
  void Pass() {
    FirstHalf();
    SecondHalf();
  }
  // How many names showed another sample than their own in the last pass.
  size_t moved() const {
    return static_cast<size_t>(std::count_if(
        shown_.begin(), shown_.end(),
        [](const auto& shown) { return shown.first != shown.second; }));
  }

 private:
  void Read(size_t begin, size_t end) {
    for (size_t k = begin; k < end; ++k) {
      now_ += milliseconds(100);
      shown_[names_[k]] = Open(names_[k]);
    }
  }

  // As the kernel does it. It says whose lookup it is.
  EntryId Open(EntryId name) {
    for (int attempt = 0; attempt < 2; ++attempt) {
      const EntryId file = view_->Lookup(name, getpid()).shown;
      if (view_->Open(file, getpid(), now_) == View::OpenVerdict::kServe) {
        return file;
      }
    }
    ADD_FAILURE() << "stale twice";
    return name;
  }

  ViewFixture fixture_{3, kNames / 3};
  const bool sorted_;
  std::mt19937 random_;
  std::unique_ptr<View> view_;
  std::vector<EntryId> names_;
  std::map<EntryId, EntryId> shown_;
  milliseconds now_{0};
};

class FromToTest : public ::testing::TestWithParam<
                       std::tuple<const char*, const char*, bool>> {};

TEST_P(FromToTest, EachSampleComesOnceInEachPass) {
  const auto [from, to, sorted] = GetParam();
  SwitchedJob job(from, sorted);
  job.FirstHalf();
  job.Switch(to);
  EXPECT_EQ(job.view().config().policy, to);
  job.SecondHalf();
  for (int pass = 1; pass < 8; ++pass) {
    SCOPED_TRACE(pass);
    job.Pass();
  }
  EXPECT_EQ(job.policy(), to);
  EXPECT_EQ(job.view().EpochStatus().state, "running");
  EXPECT_EQ(job.view().EpochStatus().retained, 0u);
  EXPECT_THAT(job.view().EpochStatus().warnings, ::testing::IsEmpty());
  EXPECT_EQ(job.moved(), 0u);
}

INSTANTIATE_TEST_SUITE_P(
    FromWhatMovesNames, FromToTest,
    ::testing::Combine(::testing::Values("lirs", "window"),
                       ::testing::Values("native", "static", "clairvoyant"),
                       ::testing::Bool()));

// Nobody counts the opens of a policy that moves no names. So where a pass ends
// is not known, and names that began to move there would show samples again.
TEST(PolicySwitchTest, NamesBeginToMoveAtASignal) {
  for (const char* from : {"native", "static", "clairvoyant"}) {
    SCOPED_TRACE(from);
    SwitchedJob job(from);
    job.FirstHalf();
    job.Switch("lirs");
    job.SecondHalf();
    job.Pass();
    EXPECT_EQ(job.moved(), 0u);
    const ViewEpochStatus status = job.view().EpochStatus();
    EXPECT_EQ(status.state, "waiting");
    EXPECT_THAT(status.warnings,
                ::testing::ElementsAre(HasSubstr("policy = lirs waits for")));
    job.Signal();
    job.Pass();
    EXPECT_EQ(job.policy(), "lirs");
    EXPECT_GT(job.moved(), SwitchedJob::kNames / 2);
    EXPECT_THAT(job.view().EpochStatus().warnings, ::testing::IsEmpty());
  }
}

TEST(PolicySwitchTest, WhatIsTakenBackWhileNamesReturnGoesOn) {
  SwitchedJob job("lirs");
  job.FirstHalf();
  job.Switch("native");
  job.SecondHalf();
  job.FirstHalf();
  job.Switch("lirs");
  job.SecondHalf();
  for (int pass = 2; pass < 5; ++pass) job.Pass();
  EXPECT_EQ(job.policy(), "lirs");
  EXPECT_GT(job.moved(), SwitchedJob::kNames / 2);
}

TEST(PolicySwitchTest, ASignalEndsTheReturn) {
  SwitchedJob job("lirs", /*sorted=*/true);
  job.FirstHalf();
  job.Switch("native");
  job.SecondHalf();
  job.FirstHalf();
  const ViewEpochStatus status = job.view().EpochStatus();
  EXPECT_EQ(job.policy(), "lirs");
  EXPECT_EQ(status.state, "waiting");
  EXPECT_GT(status.retained, 0u);
  EXPECT_THAT(status.warnings,
              ::testing::Contains(HasSubstr("policy = native waits")));
  job.Signal();
  EXPECT_EQ(job.policy(), "native");
  EXPECT_EQ(job.view().EpochStatus().state, "running");
  job.Pass();
  EXPECT_EQ(job.moved(), 0u);
}

TEST(PolicySwitchTest, NothingWaitsWhereNeitherPolicyMovesNames) {
  SwitchedJob job("native");
  job.FirstHalf();
  job.Switch("static");
  EXPECT_EQ(job.policy(), "static");
  EXPECT_EQ(job.view().EpochStatus().state, "running");
  job.Switch("lirs");  // the pass was read of, though it goes on
  EXPECT_EQ(job.policy(), "static");
  EXPECT_EQ(job.view().EpochStatus().state, "waiting");
  job.SecondHalf();
  EXPECT_EQ(job.moved(), 0u);
}

// The user's word ends the epochs, and so the wait.
TEST(PolicySwitchTest, WithManualEpochsASwitchWaitsForTheSignal) {
  SwitchedJob job("native");
  ViewConfig manual = ViewFixture::Config("native");
  manual.epoch_advance = Advance::kManual;
  job.Switch(manual);
  job.FirstHalf();
  manual.policy = "lirs";
  job.Switch(manual);
  job.SecondHalf();
  job.Pass();
  EXPECT_EQ(job.policy(), "native");
  EXPECT_EQ(job.view().EpochStatus().state, "waiting");
}

// Nobody knows what was read of the containers, so nothing shows when a pass
// over them ends.
TEST(PolicySwitchTest, SaysThatContainersWaitForASignal) {
  testing_support::TempTree tree;
  testing_support::TestPool test{64 << 20};
  tree.File("a.bin", std::string(100000, 'x'));
  auto catalogue = std::make_shared<const Catalogue>(tree.Scanned());
  SetupTools tools = testing_support::ContainerTools(tree, test.pool);
  ViewConfig config = testing_support::ContainerConfig();
  const std::string shuffles = config.policy;
  config.policy = "native";
  JobTracker job_tracker;
  View::Parts parts;
  parts.setup = *MakeViewSetup(config, catalogue, tools, nullptr);
  parts.tools = tools;
  parts.job_tracker = &job_tracker;
  View view(std::move(parts));
  view.NoteRead();
  config.policy = shuffles;
  EXPECT_EQ(view.Install(*view.Prepare(SwitchTo(config))), absl::OkStatus());
  EXPECT_EQ(view.EpochStatus().state, "waiting");
  EXPECT_THAT(view.EpochStatus().warnings,
              ::testing::Contains(HasSubstr("epoch = \"next\"")));
}

}  // namespace
}  // namespace shufflefs
