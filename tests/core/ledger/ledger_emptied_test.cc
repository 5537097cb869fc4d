// SPDX-License-Identifier: Apache-2.0
// Somebody empties or removes a ledger that is in use. A new file begins with
// the next epoch of any view.
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/ledger/ledger_writer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/full_disk.h"
#include "tests/core/ledger/ledger_fixture.h"
#include "tests/testing/effort.h"

namespace shufflefs {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::FullDisk;
using testing_support::SomeEpoch;

LedgerEpoch EpochOf(uint8_t view, uint64_t epoch) {
  LedgerEpoch begin = SomeEpoch(epoch);
  begin.view = view;
  begin.view_path = absl::StrCat("view", view);
  begin.retained.clear();
  return begin;
}

class LedgerEmptiedTest : public testing_support::LedgerTest {
 protected:
  enum class Way { kEmptied, kRemoved, kMadeAnew, kMovedAway };
  void TakeAway(Way way) {
    const std::string moved = tree_.At("moved");
    switch (way) {
      case Way::kEmptied:
        ASSERT_EQ(::truncate(path().c_str(), 0), 0);
        return;
      case Way::kMovedAway:
        ASSERT_EQ(::rename(path().c_str(), moved.c_str()), 0);
        return;
      case Way::kRemoved:
        ASSERT_EQ(::unlink(path().c_str()), 0);
        return;
      case Way::kMadeAnew:
        ASSERT_EQ(::unlink(path().c_str()), 0);
        WriteBytes("");
        return;
    }
  }
  static constexpr Way kWays[] = {Way::kEmptied, Way::kRemoved, Way::kMadeAnew,
                                  Way::kMovedAway};
};

TEST_F(LedgerEmptiedTest, ANewFileBeginsWithTheNextEpoch) {
  for (const Way way : kWays) {
    ::unlink(path().c_str());
    const auto ledger = Open();
    ASSERT_EQ(ledger->BeginEpoch(EpochOf(1, 0)), absl::OkStatus());
    ASSERT_EQ(ledger->Consumed(1, 5), absl::OkStatus());
    TakeAway(way);
    // Perhaps nobody has noticed yet.
    ledger->Consumed(1, 6).IgnoreError();
    ASSERT_EQ(ledger->BeginEpoch(EpochOf(1, 1)), absl::OkStatus());
    ASSERT_EQ(ledger->Consumed(1, 7), absl::OkStatus());
    EXPECT_THAT(Read(), ElementsAre(HasSubstr(" 1/1 "), "consumed 1 7"));
    ASSERT_EQ(ledger->Compact(), absl::OkStatus());
    ASSERT_EQ(ledger->Consumed(1, 8), absl::OkStatus());
    EXPECT_THAT(Read(), ElementsAre(HasSubstr(" 1/1 "), "consumed 1 7",
                                    HasSubstr("opens"), "consumed 1 8"));
  }
}

// By each of the records that can begin an epoch.
TEST_F(LedgerEmptiedTest, OfOtherViewsNothingIsTakenUntilTheyBegin) {
  for (const std::string how : {"begin", "adopt", "continue"}) {
    ::unlink(path().c_str());
    const auto ledger = Open();
    for (const uint8_t view : {1, 2}) {
      ASSERT_EQ(ledger->BeginEpoch(EpochOf(view, 0)), absl::OkStatus());
    }
    TakeAway(Way::kMadeAnew);
    ASSERT_EQ(ledger->BeginEpoch(EpochOf(1, 1)), absl::OkStatus());
    const LedgerHold hold{2, Epoch(1), 'b', "guest"};
    LedgerPass rest(EpochOf(2, 0));
    rest.Consumed(4);
    rest.Trim();
    for (const absl::Status& refused :
         {ledger->Consumed(2, 5), ledger->ConsumedUnder(2, 5, 6),
          ledger->Opened(2, ForgottenOpens()),
          ledger->ReadWhole(2, {Epoch(0), {3}}), ledger->Hold(hold),
          ledger->Hold(hold, rest), ledger->Rest(rest),
          ledger->Switch({2, Epoch(0), "seed 0 to 6"}),
          ledger->CheckBeginning(2)}) {
      EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss) << refused;
      EXPECT_THAT(std::string(refused.message()), HasSubstr(path()));
    }
    EXPECT_THAT(Read(), ElementsAre(HasSubstr("epoch 1 ")));
    LedgerState state;
    state.begin = EpochOf(2, 7);
    ASSERT_EQ(how == "begin"   ? ledger->BeginEpoch(state.begin)
              : how == "adopt" ? ledger->Adopt(LedgerPass::Apart(state))
                               : ledger->Continue(state),
              absl::OkStatus());
    ASSERT_EQ(ledger->Consumed(2, 5), absl::OkStatus());
    EXPECT_THAT(Read(), ElementsAre(HasSubstr("epoch 1 "),
                                    HasSubstr("epoch 2 "), "consumed 2 5"));
  }
}

TEST_F(LedgerEmptiedTest, AnotherFileInItsPlaceIsLeftAlone) {
  const auto ledger = Open();
  ASSERT_EQ(ledger->BeginEpoch(EpochOf(1, 0)), absl::OkStatus());
  TakeAway(Way::kRemoved);
  WriteBytes("of somebody else");
  EXPECT_EQ(ledger->BeginEpoch(EpochOf(1, 1)).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(ledger->Compact().ok());
  EXPECT_EQ(Bytes(), "of somebody else");
  TakeAway(Way::kRemoved);
  EXPECT_EQ(ledger->BeginEpoch(EpochOf(1, 1)), absl::OkStatus());
  EXPECT_THAT(Read(), ElementsAre(HasSubstr(" 1/1 ")));
}

TEST_F(LedgerEmptiedTest, ANewFileForWhichThereIsNoSpaceBeginsLater) {
  for (const Way way : {Way::kEmptied, Way::kMadeAnew}) {
    ::unlink(path().c_str());
    const auto ledger = Open();
    ASSERT_EQ(ledger->BeginEpoch(EpochOf(1, 0)), absl::OkStatus());
    TakeAway(way);
    for (const int bytes : {0, 20, 64, 100}) {
      const FullDisk full(bytes);
      EXPECT_FALSE(ledger->BeginEpoch(EpochOf(1, 1)).ok());
      EXPECT_FALSE(ledger->Consumed(1, 5).ok() && bytes > 0);
    }
    EXPECT_EQ(ledger->BeginEpoch(EpochOf(1, 2)), absl::OkStatus());
    EXPECT_THAT(Read(), ElementsAre(HasSubstr(" 2/2 ")));
  }
}

// A compaction that began before must not bring back the old file.
TEST_F(LedgerEmptiedTest, ACompactionMeanwhileLosesNothing) {
  const auto ledger = Open();
  for (int round = 0; round < testing_support::Rounds(200, 20); ++round) {
    ASSERT_EQ(ledger->BeginEpoch(EpochOf(1, 1)), absl::OkStatus());
    for (uint64_t i = 0; i < 1000; ++i) {
      ASSERT_EQ(ledger->Consumed(1, i), absl::OkStatus());
    }
    {
      const std::jthread compactor([&] { ledger->Compact().IgnoreError(); });
      TakeAway(kWays[round % 4]);
      ASSERT_EQ(ledger->BeginEpoch(EpochOf(1, 2)), absl::OkStatus());
      ASSERT_EQ(ledger->Consumed(1, 5), absl::OkStatus());
    }
    LedgerHistory history({});
    ASSERT_EQ(ReplayLedger(path(), history), absl::OkStatus()) << round;
    const LedgerState last = history.TakeLast()["view1"];
    ASSERT_EQ(last.begin.epoch, Epoch(2)) << round;
    ASSERT_EQ(last.consumed.size(), 1) << round;
    ASSERT_TRUE(last.consumed.Contains(5)) << round;
  }
}

class EmptiedWriterTest : public LedgerEmptiedTest {
 protected:
  std::unique_ptr<Ledger> ledger_ = Open();
  LedgerWriter one_{1, ledger_.get(), {.retry_after = milliseconds(0)}};
  LedgerWriter two_{2, ledger_.get(), {.retry_after = milliseconds(0)}};
};

TEST_F(EmptiedWriterTest, OfAViewThatHasNotBegunAnewNothingIsRecorded) {
  one_.BeginEpoch(EpochOf(1, 0), {});
  two_.BeginEpoch(EpochOf(2, 0), {});
  TakeAway(Way::kEmptied);
  for (const LedgerWriter* writer : {&one_, &two_}) {
    EXPECT_THAT(writer->Warning(),
                HasSubstr("somebody emptied it while it was in use; nothing is "
                          "recorded until names are bound anew"));
  }
  one_.BeginEpoch(EpochOf(1, 1), {});
  EXPECT_EQ(one_.Warning(), "");
  const uint64_t readers = two_.AnnounceReaders();
  for (const bool noticed : {false, true}) {
    EXPECT_THAT(two_.Warning(), HasSubstr("nothing is recorded")) << noticed;
    two_.Consumed(5);
    two_.ConsumedUnder({5, 6});
    two_.Opened(ForgottenOpens());
    two_.ReadWhole(readers, {Epoch(0), {3}});
    two_.Hold({2, Epoch(1), 'b', "guest"}, false, {});
    two_.Switch({2, Epoch(1), "seed 0 to 6"});
  }
  EXPECT_THAT(Read(), ElementsAre(HasSubstr("epoch 1 ")));
  two_.BeginEpoch(EpochOf(2, 2), {});
  EXPECT_EQ(two_.Warning(), "");
  two_.Consumed(5);
  EXPECT_THAT(Read(), ElementsAre(HasSubstr("epoch 1 "), HasSubstr("epoch 2 "),
                                  "consumed 2 5"));
}

// Each record may be the first to notice.
TEST_F(EmptiedWriterTest, WhateverIsOpenedFirstNothingIsKept) {
  for (int first = 0; first < 6; ++first) {
    one_.BeginEpoch(EpochOf(1, 0), {});
    two_.BeginEpoch(EpochOf(2, 0), {});
    TakeAway(Way::kMadeAnew);
    one_.BeginEpoch(EpochOf(1, 1), {});
    switch (first) {
      case 0:
        two_.Consumed(5);
        break;
      case 1:
        two_.ConsumedUnder({5, 6});
        break;
      case 2:
        two_.Opened(ForgottenOpens());
        break;
      case 3:
        two_.ReadWhole(two_.AnnounceReaders(), {Epoch(0), {3}});
        break;
      case 4:
        two_.Hold({2, Epoch(1), 'b', "guest"}, false, {});
        break;
      default:
        two_.Switch({2, Epoch(1), "seed 0 to 6"});
        break;
    }
    EXPECT_THAT(two_.Warning(), HasSubstr("nothing is recorded")) << first;
    EXPECT_THAT(Read(), ElementsAre(HasSubstr("epoch 1 "))) << first;
  }
}

// What waits as a whole needs no earlier record.
TEST_F(EmptiedWriterTest, WholePassesThatWaitAreRecordedInTheNewFile) {
  one_.BeginEpoch(EpochOf(1, 0), {});
  {
    const FullDisk full(ledger_->bytes());
    one_.Consumed(4);
    one_.Hold({1, Epoch(1), 'b', "guest"}, false, {});
    one_.BeginEpoch(EpochOf(1, 2), {});
    one_.Consumed(5);
    one_.Hold({1, Epoch(3), 'b', "guest"}, false, {});
    one_.Consumed(6);
  }
  TakeAway(Way::kRemoved);
  one_.Consumed(7);
  EXPECT_EQ(one_.Warning(), "");
  EXPECT_THAT(Read(),
              ElementsAre(HasSubstr(" 2/2 "), "consumed 1 5",
                          HasSubstr("opens"), "hold 1 3 b guest",
                          "consumed 1 6", HasSubstr("opens"), "consumed 1 7"));
}

TEST_F(EmptiedWriterTest, APassThatWaitsInPartIsLost) {
  one_.BeginEpoch(EpochOf(1, 0), {});
  {
    const FullDisk full(ledger_->bytes());
    one_.Consumed(4);
    one_.Hold({1, Epoch(1), 'b', "guest"}, false, {});
    one_.Consumed(5);
  }
  TakeAway(Way::kRemoved);
  one_.Consumed(6);
  EXPECT_THAT(one_.Warning(), HasSubstr("nothing is recorded"));
  one_.BeginEpoch(EpochOf(1, 2), {});
  EXPECT_THAT(Read(), ElementsAre(HasSubstr(" 2/2 ")));
}

}  // namespace
}  // namespace shufflefs
