// SPDX-License-Identifier: Apache-2.0
// What a ledger refuses is recorded later. Whenever the disk was full, the
// ledger then says what one on a sound disk says.
#include "core/ledger/ledger_writer.h"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "core/verify/proof_collector.h"
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
using ::testing::IsEmpty;
using ::testing::Not;
using testing_support::FullDisk;
using testing_support::SomeEpoch;
using testing_support::TempTree;

// Everything that a restart goes by.
std::string TextOf(const LedgerState& state) {
  const LedgerEpoch& begin = state.begin;
  std::string text = absl::StrCat(
      "epoch ", begin.epoch.value(), "/", begin.binding.value(), " view ",
      begin.view, begin.unexplained ? " unexplained" : "", "\nconsumed");
  state.consumed.ForEach(
      [&](uint64_t sample) { absl::StrAppend(&text, " ", sample); });
  absl::StrAppend(&text, "\nbound, ", state.bound_consumed, " consumed");
  for (const CarriedPair& pair : state.bound) {
    absl::StrAppend(&text, " ", pair.name, ">", pair.sample);
  }
  absl::StrAppend(&text, "\nrecent, ", state.recent.untold, " before");
  for (const LedgerOpen& open : state.recent.opens) {
    absl::StrAppend(&text, " ", static_cast<int>(open.kind), ":", open.number);
  }
  absl::StrAppend(&text, "\ncontainers");
  for (const uint64_t file : state.containers) {
    absl::StrAppend(&text, " ", file);
  }
  absl::StrAppend(&text, "\nsurplus ", state.evidence.surplus.size(), " again");
  for (const uint64_t name : state.evidence.again) {
    absl::StrAppend(&text, " ", name);
  }
  return text;
}

std::string TextOf(const absl::optional<LedgerState>& state) {
  return state ? TextOf(*state) : "nothing";
}

// Does the same in a ledger on a sound disk, and by a writer whose disk is full
// at times.
class TwoLedgers {
 public:
  explicit TwoLedgers(uint64_t seed)
      : random_(seed),
        names_(Draw(2) == 0 ? 6 : 300),
        // Each call tries again, or only those that end a pass.
        retry_after_(Draw(2) == 0 ? 0 : 3600000) {
    Open();
    Begin();
  }

  void Run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) Step();
    Restart();
  }

 private:
  uint64_t Draw(uint64_t below) { return random_() % below; }
  uint64_t DrawName() { return Draw(names_); }
  // A name shows one sample for as long as it is bound.
  CarriedPair PairOf(uint64_t name) const {
    return {name, (name + binding_) % names_};
  }
  // The first of names that are opened in a pass.
  std::vector<CarriedPair> BeginPass() {
    opened_.clear();
    std::vector<CarriedPair> pairs;
    for (uint64_t count = Draw(4); count > 0; --count) {
      const uint64_t name = DrawName();
      if (opened_.insert(name).second) pairs.push_back(PairOf(name));
    }
    return pairs;
  }

  void Open() {
    for (auto& [ledger, name] :
         {std::pair{&sound_, "sound"}, {&failing_, "failing"}}) {
      auto opened = Ledger::Open(tree_.At(name), {});
      ASSERT_TRUE(opened.ok()) << opened.status();
      *ledger = *std::move(opened);
      EXPECT_TRUE((*ledger)->cut().ok()) << (*ledger)->cut();
    }
    writer_ =
        std::make_unique<LedgerWriter>(view_, failing_.get(), retry_after_);
  }

  template <typename Sound, typename Write>
  void Both(Sound sound, Write write) {
    const absl::Status done = sound();
    ASSERT_TRUE(done.ok()) << done;
    absl::optional<FullDisk> full;
    if (is_full_) full.emplace(failing_->bytes() + Draw(30));
    write();
  }

  void Step() {
    if (Draw(6) == 0) is_full_ = !is_full_;
    switch (Draw(60)) {
      case 0:
        return Restart();
      case 1:
        return Begin();
      case 2:
        return Hold();
      case 3:
        return ReadWhole();
      case 4:
        return Compact();
      default:
        return Draw(3) == 0 ? OpenAgain() : Consume();
    }
  }

  // On a disk with space the ledger has everything. Under another number, a
  // pass that goes on is written once more.
  void Restart() {
    writer_->Close();
    sound_.reset();
    failing_.reset();
    view_ = static_cast<uint8_t>(Draw(3));
    Open();
    const absl::optional<LedgerState> state = sound_->TakeLastState("train");
    ASSERT_EQ(TextOf(writer_->TakeLast("train")), TextOf(state));
    ASSERT_TRUE(state);
    LedgerState next = *state;
    next.begin.view = view_;
    readers_ = writer_->AnnounceReaders();
    Both([&] { return sound_->Continue(next); },
         [&] { writer_->Continue(next); });
  }

  void Begin() {
    LedgerEpoch epoch = SomeEpoch(binding_ = Draw(1000), names_);
    epoch.view = view_;
    epoch.reactive = reactive_ = Draw(2) == 0;
    epoch.carried = {PairOf(1), PairOf(5)};
    const std::vector<CarriedPair> seen = BeginPass();
    readers_ = writer_->AnnounceReaders();
    Both([&] { return sound_->BeginEpoch(epoch, seen); },
         [&] { writer_->BeginEpoch(epoch, seen); });
  }

  void Hold() {
    const LedgerHold hold{view_, Epoch(Draw(1000)), Draw(2) == 0 ? 'b' : 'c',
                          "partial"};
    const std::vector<CarriedPair> seen = BeginPass();
    Both([&] { return sound_->Hold(hold, reactive_, seen); },
         [&] { writer_->Hold(hold, reactive_, seen); });
  }

  void ReadWhole() {
    // Readers of an earlier epoch may end now.
    const LedgerContainers read{Epoch(binding_ - Draw(2)), {Draw(50)}};
    Both([&] { return sound_->ReadWhole(view_, read); },
         [&] { writer_->ReadWhole(readers_, read); });
  }

  // On a full disk it may fail, and then changes nothing.
  void Compact() {
    Both([] { return absl::OkStatus(); },
         [&] { failing_->Compact().IgnoreError(); });
  }

  void OpenAgain() {
    LedgerOpens opens;
    opens.opens.push_back(
        {Draw(2) == 0 ? LedgerOpen::Kind::kAgain : LedgerOpen::Kind::kDouble,
         DrawName()});
    opens.untold = Draw(20) == 0 ? 3 : 0;
    Both([&] { return sound_->Opened(view_, opens); },
         [&] { writer_->Opened(opens); });
  }

  void Consume() {
    const CarriedPair pair = PairOf(DrawName());
    if (!reactive_) {
      // Perhaps not for the first time, which is proof of a fault.
      Both([&] { return sound_->Consumed(view_, pair.sample); },
           [&] { writer_->Consumed(pair.sample); });
    } else if (opened_.insert(pair.name).second) {
      Both([&] { return sound_->ConsumedUnder(view_, pair.name, pair.sample); },
           [&] { writer_->ConsumedUnder(pair); });
    }
  }

  TempTree tree_;
  std::mt19937_64 random_;
  const uint64_t names_;
  const milliseconds retry_after_;
  uint8_t view_ = 1;
  bool reactive_ = false;
  uint64_t binding_ = 0;
  std::set<uint64_t> opened_;  // names, in this pass
  uint64_t readers_ = 0;
  bool is_full_ = false;
  std::unique_ptr<Ledger> sound_, failing_;
  std::unique_ptr<LedgerWriter> writer_;
};

TEST(LedgerWriterProperty, AFullDiskChangesNothingThatARestartGoesBy) {
  const uint64_t runs = testing_support::SoakRounds<uint64_t>(
      testing_support::Rounds<uint64_t>(100), 5000);
  for (uint64_t seed = 1; seed <= runs; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    TwoLedgers(seed).Run(150);
    if (HasFailure()) return;
  }
}

class LedgerWriterTest : public testing_support::LedgerTest {
 protected:
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
  LedgerWriter writer_{1, ledger_.get(), milliseconds(0)};
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
  EXPECT_THAT(last->bound, ElementsAre(CarriedPair{1, 2}, CarriedPair{5, 3},
                                       CarriedPair{7, 8}, CarriedPair{9, 10}));
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
  writer_.BeginEpoch(SomeEpoch(1), {});
  {
    const FullDisk full = Full();
    for (uint64_t epoch = 2; epoch < 10; ++epoch) {
      writer_.BeginEpoch(SomeEpoch(epoch), {});
    }
  }
  writer_.Consumed(9);
  EXPECT_THAT(Read(), ElementsAre(HasSubstr(" 1/1 "), HasSubstr(" 7/7 "),
                                  HasSubstr(" 8/8 "), HasSubstr(" 9/9 "),
                                  "consumed 1 9"));
}

// The ledger never has the passes before, whose names keep their samples.
TEST_F(LedgerWriterTest, HoldsAfterPassesThatAreLostKnowTheirNames) {
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
    EXPECT_THAT(writer_.Warning(), HasSubstr("this epoch is kept in memory"));
  }
  writer_.Consumed(5);
  EXPECT_EQ(writer_.Warning(), "");
  ASSERT_EQ(::truncate(path().c_str(), 0), 0);
  writer_.BeginEpoch(SomeEpoch(3), {});
  EXPECT_THAT(writer_.Warning(), HasSubstr("somebody emptied it"));
  EXPECT_THAT(writer_.Warning(), Not(HasSubstr("free some space")));
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
