// SPDX-License-Identifier: Apache-2.0
#include "core/job_epochs/job_epochs.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/core/job_epochs/simulated_job.h"

namespace shufflefs {
namespace {

using testing_support::FakeView;

constexpr uint64_t kNames = 200;

// A FakeView that two threads may call.
class SharedView : public GroupedView {
 public:
  bool IsGrouped() const override { return true; }
  OpenTracker::Options GroupOptions() const override {
    MutexLock lock(mu_);
    return options_;
  }
  State GroupState() const override {
    MutexLock lock(mu_);
    return view_.GroupState();
  }
  std::vector<Pair> KnownOf(const std::string& member) const override {
    MutexLock lock(mu_);
    return view_.KnownOf(member);
  }
  Retained RetainedNow() const override {
    MutexLock lock(mu_);
    return view_.RetainedNow();
  }
  std::vector<Pair> OpenedHere() const override {
    MutexLock lock(mu_);
    return view_.OpenedHere();
  }
  std::vector<Pair> CloseEpoch() override {
    MutexLock lock(mu_);
    return view_.CloseEpoch();
  }
  void ReopenEpoch() override {
    MutexLock lock(mu_);
    view_.ReopenEpoch();
  }
  void BeginEpoch(const Next& next) override {
    MutexLock lock(mu_);
    view_.BeginEpoch(next);
  }
  void AdoptEpoch(const State& state, const Retained& retained) override {
    MutexLock lock(mu_);
    view_.AdoptEpoch(state, retained);
  }
  void HoldEpoch(const Next& next) override {
    MutexLock lock(mu_);
    view_.HoldEpoch(next);
  }
  void ShowWalks() override {}

  void FindEpochs(bool finds) {
    MutexLock lock(mu_);
    options_.samples = kNames;
    options_.finds_epochs = finds;
  }
  uint64_t epoch() const { return GroupState().epoch; }

 private:
  mutable Mutex mu_;
  FakeView view_ ABSL_GUARDED_BY(mu_){kNames};
  OpenTracker::Options options_ ABSL_GUARDED_BY(mu_);
};

// One daemon that is alone in its group.
class JobEpochsOfOneTest : public testing::Test {
 protected:
  JobEpochsOfOneTest() : group_(epochs_.Add("")) { view_.FindEpochs(false); }

  void Start() {
    auto members = std::make_shared<PeerGroup>();
    members->members.push_back({.name = "here:1", .self = true});
    epochs_.Attach("", &view_);
    epochs_.Start(
        {.group = [members] { return members; },
         .tell = [](const JobEpochs::Group&, size_t, const EpochMessage&) {}});
  }
  // Opens all names, in turn, until the epoch is `epoch` or `passes` are over.
  void Read(uint64_t passes, uint64_t epoch) {
    for (uint64_t pass = 0; pass < passes && view_.epoch() < epoch; ++pass) {
      for (uint64_t name = 0; name < kNames; ++name) {
        group_->Opened({.name = name, .reader = 77});
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }

  SharedView view_;
  JobEpochs epochs_;
  EpochGroup* const group_;
};

TEST_F(JobEpochsOfOneTest, ASwitchOfEpochAdvanceIsFollowed) {
  Start();
  Read(/*passes=*/4, /*epoch=*/1);
  EXPECT_EQ(view_.epoch(), 0u);
  view_.FindEpochs(true);
  Read(/*passes=*/600, /*epoch=*/3);
  EXPECT_GE(view_.epoch(), 3u);
  // A pass that is not over yet may still end.
  view_.FindEpochs(false);
  Read(/*passes=*/10, /*epoch=*/1000);
  const uint64_t epoch = view_.epoch();
  Read(/*passes=*/4, /*epoch=*/1000);
  EXPECT_EQ(view_.epoch(), epoch);
}

TEST_F(JobEpochsOfOneTest, TheUserEndsAnEpoch) {
  Start();
  EXPECT_TRUE(group_->Signal(0).ok());
  EXPECT_EQ(view_.epoch(), 1u);
  EXPECT_TRUE(group_->Signal(9).ok());
  EXPECT_EQ(view_.epoch(), 9u);
  const absl::Status refused = group_->Signal(4);
  EXPECT_NE(refused.message().find("epochs only advance"), std::string::npos)
      << refused;
  epochs_.Stop();
  EXPECT_EQ(view_.epoch(), 9u);
}

}  // namespace
}  // namespace shufflefs
