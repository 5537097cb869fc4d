// SPDX-License-Identifier: Apache-2.0
// What a ledger refuses is recorded later.
#include "core/ledger/ledger_writer.h"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "core/verify/proof_collector.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/full_disk.h"
#include "tests/core/ledger/ledger_fixture.h"

namespace shufflefs {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing_support::FullDisk;
using testing_support::SomeEpoch;

class LedgerWriterTest : public testing_support::LedgerTest {
 protected:
  explicit LedgerWriterTest(uint64_t most = LedgerWriter::kMostEndedBytes)
      : writer_(1, ledger_.get(),
                {.retry_after = milliseconds(0), .most_ended_bytes = most}) {}
  // As a kill would leave it.
  absl::optional<LedgerState> Last() const {
    std::filesystem::copy_file(
        path(), tree_.At("copy"),
        std::filesystem::copy_options::overwrite_existing);
    auto ledger = Ledger::Open(tree_.At("copy"), {});
    EXPECT_TRUE(ledger.ok()) << ledger.status();
    return ledger.ok() ? (*ledger)->TakeLastState("train") : absl::nullopt;
  }
  // What verify counts, a line a pass: its epoch, the samples that it consumed,
  // and whether that breaks a promise.
  std::vector<std::string> Passes() const {
    ProofCollector collector;
    EXPECT_EQ(ReplayLedger(path(), collector), absl::OkStatus());
    std::vector<std::string> passes;
    for (const CollectedPass& pass : collector.Take()) {
      const EpochProof& proof = pass.proof;
      passes.push_back(absl::StrCat(proof.begin.epoch.value(), ": ",
                                    proof.consumed,
                                    proof.complete() ? ", complete" : "",
                                    proof.broken() ? ", BROKEN" : ""));
    }
    return passes;
  }
  void ConsumeAll(uint64_t names) {
    for (uint64_t i = 0; i < names; ++i) writer_.Consumed(i);
  }
  void OpenAgain(uint64_t name) {
    LedgerOpens opens;
    opens.opens.push_back({LedgerOpen::Kind::kAgain, name});
    writer_.Opened(opens);
  }
  FullDisk Full() const { return FullDisk(ledger_->bytes()); }

  std::unique_ptr<Ledger> ledger_ = Open();
  LedgerWriter writer_;
};

// A view of containers may write nothing else until its pass has ended.
TEST_F(LedgerWriterTest, WhatWasReadWholeBringsItsPassToTheLedger) {
  writer_.BeginEpoch(SomeEpoch(1), {});
  const uint64_t readers = writer_.AnnounceReaders();
  {
    const FullDisk full = Full();
    writer_.ReadWhole(readers, {Epoch(1), {7}});
    writer_.BeginEpoch(SomeEpoch(2), {});
  }
  const uint64_t next = writer_.AnnounceReaders();
  {
    const FullDisk full = Full();
    writer_.ReadWhole(next, {Epoch(2), {4}});
  }
  EXPECT_EQ(Last()->begin.epoch, Epoch(1));
  writer_.ReadWhole(next, {Epoch(2), {5}});
  EXPECT_EQ(Last()->begin.epoch, Epoch(2));
  EXPECT_THAT(Last()->containers, ElementsAre(4, 5));
}

TEST_F(LedgerWriterTest, ReadersOfAPassThatEndedAreNotBelieved) {
  writer_.BeginEpoch(SomeEpoch(1), {});
  const uint64_t readers = writer_.AnnounceReaders();
  writer_.ReadWhole(readers, {Epoch(1), {3}});
  // The same epoch is begun once more.
  const uint64_t next = writer_.AnnounceReaders();
  writer_.BeginEpoch(SomeEpoch(1), {});
  writer_.ReadWhole(readers, {Epoch(1), {4}});
  writer_.ReadWhole(next, {Epoch(1), {5}});
  EXPECT_THAT(Last()->containers, ElementsAre(5));
}

TEST_F(LedgerWriterTest, ASwitchThatIsRefusedIsRecordedLater) {
  writer_.BeginEpoch(SomeEpoch(1), {});
  {
    const FullDisk full = Full();
    writer_.Switch({1, Epoch(1), "seed 0 to 6"});
    writer_.Consumed(5);
  }
  writer_.Consumed(6);
  EXPECT_THAT(Read(), ElementsAre(HasSubstr("epoch"), "consumed 1 5",
                                  HasSubstr("opens"), "switch 1 1 seed 0 to 6",
                                  "consumed 1 6"));
}

// Names keep their samples over holds, so both passes show the same pair.
TEST_F(LedgerWriterTest, HoldsThatAreWrittenLateBindNoNameTwice) {
  LedgerEpoch epoch = SomeEpoch(1);
  epoch.reactive = true;
  writer_.BeginEpoch(epoch, {});
  writer_.ConsumedUnder({7, 8});
  {
    const FullDisk full = Full();
    writer_.Hold({1, Epoch(2), 'b', "guest"}, true, {});
    writer_.ConsumedUnder({7, 8});
    writer_.Hold({1, Epoch(3), 'b', "guest"}, true, {});
  }
  writer_.ConsumedUnder({9, 10});
  const absl::optional<LedgerState> last = Last();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->begin.epoch, Epoch(3));
  EXPECT_THAT(last->bound, ElementsAre(NameBinding{1, 2}, NameBinding{5, 3},
                                       NameBinding{7, 8}, NameBinding{9, 10}));
}

// Two of them, each as it would have been on a sound disk.
TEST_F(LedgerWriterTest, PassesThatEndWhileTheDiskIsFullAreRecordedLater) {
  writer_.BeginEpoch(SomeEpoch(1), {});
  writer_.Consumed(5);
  {
    const FullDisk full = Full();
    writer_.Consumed(6);
    writer_.Switch({1, Epoch(1), "seed 0 to 6"});
    writer_.BeginEpoch(SomeEpoch(2), {{1, 4}});
    writer_.Consumed(8);
    writer_.BeginEpoch(SomeEpoch(3), {});
  }
  writer_.Consumed(9);
  EXPECT_EQ(writer_.Warning(), "");
  EXPECT_THAT(
      Read(),
      ElementsAre(HasSubstr("epoch 1"), "consumed 1 5", "consumed 1 6",
                  HasSubstr("opens"), "switch 1 1 seed 0 to 6",
                  HasSubstr(" 2/2 "), "consumed 1 4", "consumed 1 8",
                  HasSubstr("opens"), HasSubstr(" 3/3 "), "consumed 1 9"));
}

// A hold binds no name anew, so it misses none that was opened for it.
TEST_F(LedgerWriterTest, AHoldThatIsWrittenLateBreaksNothing) {
  {
    const FullDisk full = Full();
    writer_.BeginEpoch(SomeEpoch(1, 6), {});
    ConsumeAll(6);
    OpenAgain(4);
    writer_.Hold({1, Epoch(2), 'b', "guest"}, false, {});
  }
  writer_.Consumed(4);
  EXPECT_THAT(Passes(), ElementsAre("1: 6, complete", "2: 1"));
}

TEST_F(LedgerWriterTest, OfPassesThatEndOnlyTheLastAreKept) {
  constexpr uint64_t kLast = LedgerWriter::kMostEnded + 5;
  writer_.BeginEpoch(SomeEpoch(1), {});
  {
    const FullDisk full = Full();
    for (uint64_t epoch = 2; epoch <= kLast; ++epoch) {
      writer_.BeginEpoch(SomeEpoch(epoch), {});
    }
  }
  writer_.Consumed(9);
  const std::vector<std::string> passes = Passes();
  ASSERT_EQ(passes.size(), 1 + LedgerWriter::kMostEnded + 1);
  EXPECT_EQ(passes[0], "1: 0");
  EXPECT_EQ(passes[1], "5: 0");
  EXPECT_EQ(passes.back(), absl::StrCat(kLast, ": 1"));
}

// A pair takes 5 bytes here.
TEST_F(LedgerWriterTest, OfLargePassesThatEndFewerAreKept) {
  constexpr uint64_t kNames = 1 << 20;
  LedgerWriter writer(
      1, ledger_.get(),
      {.retry_after = milliseconds(0), .most_ended_bytes = 500000});
  {
    const FullDisk full = Full();
    for (uint64_t pass = 1; pass < 6; ++pass) {
      LedgerEpoch epoch = SomeEpoch(pass, kNames);
      epoch.reactive = true;
      const std::vector<NameBinding> seen(40000, {7, 8});
      writer.BeginEpoch(epoch, seen);
    }
  }
  writer.Close();
  EXPECT_THAT(Passes(), ElementsAre(HasSubstr("3: "), HasSubstr("4: "),
                                    HasSubstr("5: ")));
}

// The last that ended is always kept.
class LosingWriterTest : public LedgerWriterTest {
 protected:
  LosingWriterTest() : LedgerWriterTest(0) {}
};

// The ledger never has the passes before, whose names keep their samples.
TEST_F(LosingWriterTest, HoldsAfterPassesThatAreLostKnowTheirNames) {
  LedgerEpoch epoch = SomeEpoch(1);
  epoch.reactive = true;
  writer_.BeginEpoch(epoch, {});
  writer_.ConsumedUnder({7, 8});
  {
    const FullDisk full = Full();
    for (uint64_t pass = 2; pass < 10; ++pass) {
      writer_.ConsumedUnder({10 + pass, 20 + pass});
      writer_.Hold({1, Epoch(pass), 'b', "guest"}, true, {});
      if (pass == 2) writer_.ConsumedUnder({7, 8});
    }
  }
  writer_.ConsumedUnder({30, 31});
  const absl::optional<LedgerState> last = Last();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->begin.epoch, Epoch(9));
  EXPECT_EQ(last->bound.size(), 2 + 1 + 8 + 1);
  EXPECT_EQ(last->bound_consumed, 1);
}

// Of a pass whose beginning is lost, the ledger cannot hold the names.
TEST_F(LosingWriterTest, AHoldOfAPassThatIsLostBeginsByItself) {
  writer_.BeginEpoch(SomeEpoch(1), {});
  {
    const FullDisk full = Full();
    LedgerEpoch epoch = SomeEpoch(2);
    epoch.reactive = true;
    writer_.BeginEpoch(epoch, {{7, 8}});
    writer_.Hold({1, Epoch(3), 'b', "guest"}, true, {});
    writer_.Hold({1, Epoch(4), 'b', "guest"}, true, {});
  }
  writer_.ConsumedUnder({9, 10});
  EXPECT_THAT(Passes(), ElementsAre("1: 0", "3: 0", "4: 1"));
  const absl::optional<LedgerState> last = Last();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->begin.binding, Epoch(2));
  EXPECT_THAT(last->bound, ElementsAre(NameBinding{1, 2}, NameBinding{5, 3},
                                       NameBinding{7, 8}, NameBinding{9, 10}));
}

// Names that were opened for an epoch that is lost were not bound anew. Nothing
// is proven of that epoch.
TEST_F(LosingWriterTest, AnEpochThatIsLostBreaksNothing) {
  writer_.BeginEpoch(SomeEpoch(1, 6), {});
  ConsumeAll(6);
  OpenAgain(4);
  {
    const FullDisk full = Full();
    writer_.BeginEpoch(SomeEpoch(2, 6), {});
    ConsumeAll(6);
    writer_.BeginEpoch(SomeEpoch(3, 6), {});
    writer_.BeginEpoch(SomeEpoch(4, 6), {});
  }
  writer_.Consumed(4);
  EXPECT_THAT(Passes(), ElementsAre("1: 6, complete", "3: 0", "4: 1"));
}

// Epoch 2 comes once more, by control, and is lost.
TEST_F(LosingWriterTest, AnEpochThatIsSetBackAndLostBreaksNothing) {
  writer_.BeginEpoch(SomeEpoch(2, 6), {});
  ConsumeAll(6);
  OpenAgain(4);
  {
    const FullDisk full = Full();
    LedgerEpoch back = SomeEpoch(2, 6);
    back.retained.clear();
    writer_.BeginEpoch(back, {});
    ConsumeAll(6);
    writer_.BeginEpoch(SomeEpoch(3, 6), {});
    writer_.BeginEpoch(SomeEpoch(4, 6), {});
  }
  writer_.Consumed(4);
  EXPECT_THAT(Passes(), ElementsAre("2: 6, complete", "3: 0", "4: 1"));
}

TEST_F(LosingWriterTest, AHoldThatBeginsByItselfBreaksNothing) {
  writer_.BeginEpoch(SomeEpoch(2, 6), {});
  ConsumeAll(6);
  OpenAgain(4);
  {
    const FullDisk full = Full();
    LedgerEpoch back = SomeEpoch(2, 6);
    back.seed = Seed(8);
    writer_.BeginEpoch(back, {});
    writer_.Hold({1, Epoch(3), 'b', "guest"}, false, {});
    writer_.Hold({1, Epoch(4), 'b', "guest"}, false, {});
  }
  writer_.Consumed(4);
  EXPECT_THAT(Passes(), ElementsAre("2: 6, complete", "3: 0", "4: 1"));
}

// The ledger lacks the end of epoch 1, and has what was opened again before.
TEST_F(LosingWriterTest, ABreakIsFoundThoughTheEndBeforeItIsLost) {
  writer_.BeginEpoch(SomeEpoch(1, 6), {});
  ConsumeAll(6);
  OpenAgain(4);
  {
    const FullDisk full = Full();
    OpenAgain(5);
    writer_.BeginEpoch(SomeEpoch(2, 6), {});
    writer_.BeginEpoch(SomeEpoch(3, 6), {});
  }
  writer_.Consumed(4);
  EXPECT_THAT(Passes(), ElementsAre("1: 6, complete", "2: 0, BROKEN", "3: 1"));
}

TEST_F(LedgerWriterTest, AKillLosesWhatWaitsAndBreaksNothing) {
  writer_.BeginEpoch(SomeEpoch(1, 6), {});
  writer_.Consumed(0);
  {
    const FullDisk full = Full();
    for (uint64_t sample = 1; sample < 6; ++sample) writer_.Consumed(sample);
    OpenAgain(5);
    writer_.BeginEpoch(SomeEpoch(2, 6), {});
    writer_.Consumed(3);
    // Nothing of the next epoch counts for this one.
    EXPECT_THAT(Passes(), ElementsAre("1: 1"));
    ASSERT_TRUE(Last());
    EXPECT_EQ(Last()->begin.epoch, Epoch(1));
    EXPECT_EQ(Last()->consumed.size(), 1);
  }
  {
    // There is space for the rest of one epoch, but not for the next.
    const FullDisk full(ledger_->bytes() + 300);
    writer_.Consumed(2);
    EXPECT_THAT(Passes(), ElementsAre("1: 6, complete"));
    ASSERT_TRUE(Last());
    EXPECT_EQ(Last()->begin.epoch, Epoch(1));
  }
  EXPECT_THAT(writer_.Warning(), HasSubstr("lost if the daemon ends"));
  writer_.Consumed(4);
  EXPECT_THAT(Passes(), ElementsAre("1: 6, complete", "2: 3"));
}

TEST_F(LedgerWriterTest, ThreadsLoseNothingWhileTheDiskIsFullAtTimes) {
  constexpr uint64_t kNotes = 3000;
  writer_.BeginEpoch(SomeEpoch(1, kNotes), {});
  const uint64_t readers = writer_.AnnounceReaders();
  {
    const std::jthread opens([&] {
      for (uint64_t i = 0; i < kNotes; ++i) writer_.Consumed(i);
    });
    const std::jthread reads([&] {
      for (uint64_t i = 0; i < kNotes; ++i) {
        writer_.ReadWhole(readers, {Epoch(1), {i}});
      }
    });
    for (int i = 0; i < 50; ++i) {
      const FullDisk full = Full();
      writer_.Warning();  // status is asked for meanwhile
    }
  }
  writer_.Close();
  const absl::optional<LedgerState> last = Last();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->consumed.size(), kNotes);
  EXPECT_EQ(last->containers.size(), kNotes);
}

TEST_F(LedgerWriterTest, SaysWhatTheLedgerLacks) {
  writer_.BeginEpoch(SomeEpoch(1), {});
  EXPECT_EQ(writer_.Warning(), "");
  {
    const FullDisk full = Full();
    writer_.Consumed(5);
    EXPECT_THAT(writer_.Warning(), HasSubstr("what was read since is kept in "
                                             "memory only"));
    EXPECT_THAT(writer_.Warning(), HasSubstr("free some space"));
    writer_.BeginEpoch(SomeEpoch(2), {});
    EXPECT_THAT(writer_.Warning(),
                HasSubstr("; this epoch and 1 before it, the first in part, "
                          "are kept in memory only, and are lost if"));
  }
  writer_.Consumed(5);
  EXPECT_EQ(writer_.Warning(), "");
  {
    const FullDisk full = Full();
    writer_.BeginEpoch(SomeEpoch(3), {});
    EXPECT_THAT(writer_.Warning(), HasSubstr("; this epoch is kept in memory"));
    writer_.BeginEpoch(SomeEpoch(4), {});
    writer_.BeginEpoch(SomeEpoch(5), {});
    EXPECT_THAT(writer_.Warning(),
                HasSubstr("; this epoch and 2 before it are kept in memory"));
    for (uint64_t epoch = 6; epoch < 30; ++epoch) {
      writer_.BeginEpoch(SomeEpoch(epoch), {});
    }
    EXPECT_THAT(
        writer_.Warning(),
        HasSubstr(absl::StrCat("; ", 26 - LedgerWriter::kMostEnded,
                               " before these are lost; this epoch and ",
                               LedgerWriter::kMostEnded, " before it are")));
  }
  writer_.Consumed(5);
  EXPECT_EQ(writer_.Warning(), "");
  ASSERT_EQ(::unlink(path().c_str()), 0);
  WriteBytes("of somebody else");
  writer_.BeginEpoch(SomeEpoch(30), {});
  EXPECT_THAT(writer_.Warning(), HasSubstr("put another file in its place"));
  EXPECT_THAT(writer_.Warning(), Not(HasSubstr("free some space")));
}

// A reader waits for each call.
TEST_F(LedgerWriterTest, ACallAppendsOnePassIfPassesAreLarge) {
  LedgerWriter writer(1, ledger_.get(),
                      {.retry_after = milliseconds(0), .most_at_once = 0});
  {
    const FullDisk full = Full();
    for (uint64_t epoch = 1; epoch < 5; ++epoch) {
      writer.BeginEpoch(SomeEpoch(epoch), {});
      writer.Consumed(epoch);
    }
  }
  std::vector<std::string> passes;
  for (uint64_t epoch = 1; epoch < 5; ++epoch) {
    EXPECT_THAT(Passes(), passes);
    passes.push_back(absl::StrCat(epoch, ": ", epoch < 4 ? 1 : 5));
    EXPECT_THAT(writer.Warning(), HasSubstr("kept in memory only")) << epoch;
    writer.Consumed(4 + epoch);
  }
  EXPECT_EQ(writer.Warning(), "");
  EXPECT_EQ(Passes(), passes);
}

// Only the bound of a call keeps them in memory, and that may not cost one.
TEST_F(LedgerWriterTest, APassThatIsLargeDrivesOutNoneThatCouldBeRecorded) {
  constexpr uint64_t kNames = 1 << 20;
  LedgerWriter writer(1, ledger_.get(),
                      {.retry_after = milliseconds(0),
                       .most_ended_bytes = 200000,
                       .most_at_once = 0});
  LedgerEpoch large = SomeEpoch(3, kNames);
  large.reactive = true;
  {
    const FullDisk full = Full();
    writer.BeginEpoch(SomeEpoch(1), {});
    writer.BeginEpoch(SomeEpoch(2), {});
    writer.BeginEpoch(large, std::vector<NameBinding>(100000, {7, 8}));
  }
  writer.BeginEpoch(SomeEpoch(4), {});
  writer.Close();
  EXPECT_THAT(Passes(), ElementsAre("1: 0", "2: 0", HasSubstr("3: 1"), "4: 0"));
}

// Also without a ledger.
TEST_F(LedgerWriterTest, NothingIsWrittenAfterItsEnd) {
  LedgerWriter none(1, nullptr);
  for (LedgerWriter* writer : {&writer_, &none}) {
    writer->Close();
    EXPECT_FALSE(writer->TakeLast("train"));
    writer->BeginEpoch(SomeEpoch(1), {});
    writer->Consumed(5);
    writer->ReadWhole(writer->AnnounceReaders(), {Epoch(1), {3}});
    EXPECT_EQ(writer->Warning(), "");
  }
  EXPECT_THAT(Read(), IsEmpty());
}

}  // namespace
}  // namespace shufflefs
