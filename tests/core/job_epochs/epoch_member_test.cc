// SPDX-License-Identifier: Apache-2.0
#include "core/job_epochs/epoch_member.h"

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/job_epochs/simulated_job.h"

namespace shufflefs {
namespace {

using std::chrono::milliseconds;
using testing_support::FakeView;

// A member whose lead is played by the test. Its node opens the same names
// again and again, and no epoch ends.
class EpochMemberTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kNames = 100;
  static constexpr int kPasses = 12000;  // 1.2 million opens
  static constexpr uint64_t kFew = 400000;

  void Start(uint64_t names = kNames) {
    view_ = std::make_unique<FakeView>(names);
    EpochMember::Parts parts;
    parts.stream = 1;
    parts.view = view_.get();
    parts.tells_opens = true;
    parts.send = [this](const std::string&, const EpochMessage& message) {
      sent_.push_back(message);
    };
    parts.take_opens = [] { return std::vector<EpochOpen>(); };
    member_ = std::make_unique<EpochMember>(std::move(parts));
    for (uint64_t name = 0; name < names; ++name) {
      pass_.push_back({.name = name, .sample = name});
      view_->opened.insert(name);
    }
  }
  void Ack(uint64_t first) {
    EpochMessage ack;
    ack.kind = EpochMessage::Kind::kAck;
    ack.stream = 1;
    ack.from = "lead";
    ack.first = first;
    member_->Hear(ack, now_);
  }
  // The lead acknowledges all that it is told. Returns how many opens that are.
  uint64_t TellAll() {
    uint64_t opens = 0;
    do {
      member_->Tick(now_ += milliseconds(500));
      for (const EpochMessage& message : std::exchange(sent_, {})) {
        for (const EpochOpen& open : message.opens) told_.insert(open.name);
        opens += message.opens.size();
        Ack(message.first + message.opens.size());
      }
    } while (member_->busy());
    return opens;
  }
  // All passes; the lead has acknowledged all.
  void TellPasses() {
    member_->SetLead("lead", "self");
    for (int i = 1; i <= kPasses; ++i) {
      member_->Add(pass_);
      if (i % 80 == 0) TellAll();
    }
    EXPECT_FALSE(member_->busy());
  }

  std::unique_ptr<FakeView> view_;
  std::unique_ptr<EpochMember> member_;
  std::vector<EpochOpen> pass_;
  std::vector<EpochMessage> sent_;
  std::set<uint64_t> told_;  // names
  milliseconds now_{1000};
};

// A daemon that finds itself in no list of members.
TEST_F(EpochMemberTest, WithoutALeadOpensArePutTogether) {
  Start();
  for (int i = 0; i < kPasses; ++i) {
    member_->Add(pass_);
    if (i % 100 == 0) member_->Tick(now_ += milliseconds(50));
  }
  EXPECT_TRUE(sent_.empty());
  // Once there is a lead, it hears of each name, and of few more than once.
  member_->SetLead("lead", "self");
  EXPECT_LT(TellAll(), kFew);
  EXPECT_EQ(told_.size(), kNames);
}

TEST_F(EpochMemberTest, WhatALeadAcknowledgedIsPutTogether) {
  Start();
  TellPasses();
  told_.clear();
  member_->SetLead("another", "self");
  EXPECT_LT(TellAll(), kFew);
  EXPECT_EQ(told_.size(), kNames);
}

TEST_F(EpochMemberTest, ALeadThatWasRestartedIsToldThatThereIsMore) {
  Start();
  TellPasses();
  member_->Add({{.name = 7, .sample = 7}});
  member_->Tick(now_ += milliseconds(500));
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].next & EpochMessage::kNoneBefore, 0u);
  EpochMessage again;
  again.kind = EpochMessage::Kind::kAgain;
  again.stream = 1;
  again.from = "lead";
  member_->Hear(again, now_);
  const uint64_t first = sent_[0].first;
  sent_.clear();
  told_.clear();
  member_->Tick(now_ += milliseconds(5));
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_GT(sent_[0].first, first);
  EXPECT_EQ(sent_[0].next,
            EpochMessage::kNoneBefore | EpochMessage::kToldBefore);
  TellAll();
  EXPECT_EQ(told_.size(), kNames);
}

TEST_F(EpochMemberTest, ALeadThatAcknowledgesNothingCostsLittle) {
  Start();
  member_->SetLead("lead", "self");
  for (int i = 0; i < kPasses; ++i) {
    member_->Add(pass_);
    if (i % 100 == 0) member_->Tick(now_ += milliseconds(50));
  }
  sent_.clear();
  EXPECT_LT(TellAll(), kFew);
  EXPECT_EQ(told_.size(), kNames);
}

// Another lead learns the order in which they were opened.
TEST_F(EpochMemberTest, AnEpochOfManyNamesIsKeptAsItWas) {
  constexpr uint64_t kMany = 1200000;
  Start(kMany);
  member_->SetLead("lead", "self");
  for (auto& open : pass_) open.reader = 5;
  member_->Add(pass_);
  EXPECT_EQ(TellAll(), kMany);
  member_->SetLead("another", "self");
  member_->Tick(now_ += milliseconds(500));
  ASSERT_FALSE(sent_.empty());
  EXPECT_EQ(sent_.back().first, 0u);
  ASSERT_FALSE(sent_.back().opens.empty());
  EXPECT_EQ(sent_.back().opens[0].reader, 5u);
}

}  // namespace
}  // namespace shufflefs
