// SPDX-License-Identifier: Apache-2.0
// Passes over containers with which a restarted daemon or job goes on: why they
// end by hand only, and what a token tells of them.
#include <memory>
#include <string>
#include <utility>

#include "core/view/view.h"
#include "gtest/gtest.h"
#include "tests/core/base/full_disk.h"
#include "tests/core/view/restarted_pass.h"

namespace shufflefs {
namespace {

class ResumedRecordsTest : public testing_support::RestartedPassTest {
 protected:
  ContainerSet& containers() { return *view_->setup()->records.containers; }
  uint32_t by_hand() { return containers().by_hand(); }
  // A job goes on with the token. Returns whether the epoch is live.
  bool GoOnWith(EpochToken token) {
    const absl::StatusOr<bool> live = view_->GoesOnWith(token);
    EXPECT_TRUE(live.ok()) << live.status();
    if (*live) return true;
    View::Prepared prepared{view_->setup(), {}};
    EXPECT_EQ(view_->Restore(std::move(prepared), token), absl::OkStatus());
    return false;
  }
  void ReadWholePasses(uint64_t first) {
    for (uint64_t pass = first; pass < first + 3; ++pass) {
      EXPECT_EQ(Read(0), Epoch(pass));
      EXPECT_EQ(Read(1), Epoch(pass));
    }
  }
  void NextEpoch() {
    ControlRequest next;
    next.config = view_->config();
    next.next_epoch = true;
    ASSERT_EQ(Install(next), absl::OkStatus());
  }
};

// [S-6.5d] Once an index was read in the live view no pass over containers
// begins the next epoch.
TEST_F(ResumedRecordsTest, PassesThatEndByHandDoSoAfterARestart) {
  EXPECT_EQ(Read(0), Epoch(0));
  containers().NoteByHand(ContainerSet::kIndexWasRead);
  EXPECT_EQ(Read(1), Epoch(0));
  for (int run = 0; run < 3; ++run) {
    Start();
    EXPECT_EQ(containers().by_hand(), ContainerSet::kIndexWasRead);
    EXPECT_EQ(Read(0), Epoch(static_cast<uint64_t>(run)));
    EXPECT_EQ(Read(1), Epoch(static_cast<uint64_t>(run)));
    EXPECT_EQ(Read(0), Epoch(static_cast<uint64_t>(run)));
    if (run == 1) {
      ASSERT_EQ(ledger_->Compact(), absl::OkStatus());
    }
    NextEpoch();
  }
  StartAnew(ReadBefore::kNothing);
  EXPECT_EQ(by_hand(), 0u);
}

TEST_F(ResumedRecordsTest, AllReasonsAreKeptAsTheyCome) {
  containers().NoteByHand(0x40000000);
  Read(0);
  Start();
  EXPECT_EQ(by_hand(), 0x40000000u);
  containers().NoteByHand(2);
  {
    const testing_support::FullDisk full(0);
    Read(0);
  }
  Start();
  EXPECT_EQ(by_hand(), 0x40000002u);
  // A reader of an epoch that ended tells it of the one that runs.
  const std::shared_ptr<RecordEpoch> first = view_->records();
  NextEpoch();
  containers().NoteByHand(4);
  first->TellByHand();
  Start();
  EXPECT_EQ(by_hand(), 0x40000006u);
}

TEST_F(ResumedRecordsTest, ATokenTellsWhyPassesEndByHand) {
  containers().NoteByHand(ContainerSet::kIndexWasRead);
  const EpochToken token = view_->Token();
  EXPECT_EQ(token.by_hand, 1u);
  StartAnew(ReadBefore::kNothing);
  NextEpoch();
  EXPECT_FALSE(GoOnWith(token));
  EXPECT_EQ(by_hand(), 1u);
  Start();
  EXPECT_EQ(by_hand(), 1u);
  StartAnew(ReadBefore::kNothing);
  EXPECT_TRUE(GoOnWith(token));
  EXPECT_EQ(by_hand(), 1u);
  Start();
  EXPECT_EQ(by_hand(), 1u);
}

// The job that goes on is not taken for one that begins an epoch.
TEST_F(ResumedRecordsTest, WhatWasReadAheadIsReadOnceMoreInThePassOfAToken) {
  for (const bool restarts : {false, true}) {
    StartAnew(ReadBefore::kNothing);
    Read(0);
    Read(1);
    const EpochToken token = view_->Token();
    if (restarts) Start();
    EXPECT_TRUE(GoOnWith(token));
    EXPECT_EQ(Read(0), Epoch(0));
    if (restarts) Start();
    EXPECT_EQ(Read(1), Epoch(0));
    ReadWholePasses(1);
  }
}

TEST_F(ResumedRecordsTest, TheRestOfThePassOfATokenEndsIt) {
  for (const bool is_moved : {false, true}) {
    for (const bool restarts : {false, true}) {
      StartAnew(ReadBefore::kNothing);
      Read(0);
      const EpochToken token = view_->Token();
      Read(1);  // ahead: the job that saved the token does not know of it
      if (is_moved) {
        StartAnew(ReadBefore::kNothing);
        NextEpoch();
      }
      EXPECT_EQ(GoOnWith(token), !is_moved);
      if (restarts) Start();
      EXPECT_EQ(Read(1), Epoch(0));
      ReadWholePasses(1);
    }
  }
}

// One of an earlier version does not say which were read to the end.
TEST_F(ResumedRecordsTest, ATokenWithoutContainersIsUnderstood) {
  Read(0);
  EpochToken token = view_->Token();
  ASSERT_TRUE(token.whole.has_value());
  token.whole.reset();
  EXPECT_TRUE(GoOnWith(token));
  EXPECT_EQ(Read(1), Epoch(0)) << "the first is still known to be read";
  EXPECT_TRUE(GoOnWith(token));
  EXPECT_EQ(Read(0), Epoch(0)) << "all were read ahead";
  EXPECT_EQ(Read(1), Epoch(0));
  ReadWholePasses(1);
}

// While names were passed through, the first of the two was read.
TEST_F(ResumedRecordsTest, ATokenOfAPassThatBeganInTheSourceSaysWhatWasRead) {
  StartAnew(ReadBefore::kSomething);
  const std::shared_ptr<RecordEpoch> first = view_->records();
  EXPECT_EQ(
      first->Open(files_[0], PassReader{}, [](uint32_t) { return false; }),
      PassTracker::OpenIs::kOfThisPass);
  first->NotePassed(files_[0], 0, kBytes);
  first->Close(files_[0]);
  const EpochToken token = view_->Token();
  StartAnew(ReadBefore::kNothing);
  EXPECT_FALSE(GoOnWith(token));
  EXPECT_TRUE(ShowsSource());
  EXPECT_EQ(Read(1), Epoch(0));
  EXPECT_EQ(view_->EpochStatus().state, "waiting");
  ReadWholePasses(1);
  EXPECT_EQ(view_->EpochStatus().state, "running");
  // What was read of this one, nobody knows.
  StartAnew(ReadBefore::kUnknown);
  EXPECT_FALSE(view_->Token().whole.has_value());
}

}  // namespace
}  // namespace shufflefs
