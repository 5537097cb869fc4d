// SPDX-License-Identifier: Apache-2.0
// Whenever the disk was full, the ledger then says what one on a sound disk
// says: to a restart, and to verify.
#include <chrono>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "core/ledger/ledger_writer.h"
#include "core/verify/proof_collector.h"
#include "gtest/gtest.h"
#include "tests/core/base/full_disk.h"
#include "tests/core/ledger/ledger_fixture.h"
#include "tests/testing/effort.h"

namespace shufflefs {
namespace {

using std::chrono::milliseconds;
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

// What verify counts in a ledger, by epoch.
std::map<uint64_t, EpochProof> PassesOf(const std::string& path) {
  ProofCollector collector;
  EXPECT_EQ(ReplayLedger(path, collector), absl::OkStatus());
  std::map<uint64_t, EpochProof> passes;
  for (CollectedPass& pass : collector.Take()) {
    const uint64_t epoch = pass.proof.begin.epoch.value();
    EXPECT_TRUE(passes.emplace(epoch, std::move(pass.proof)).second) << epoch;
  }
  return passes;
}

std::string TextOf(const EpochProof& proof) {
  return absl::StrCat("epoch ", proof.begin.epoch.value(), "/",
                      proof.begin.binding.value(), ": ", proof.consumed, ", ",
                      proof.twice, " twice, ", proof.unnamed, " unnamed, ",
                      proof.bound_anew, " bound anew");
}

// Does the same in a ledger on a sound disk, and by a writer whose disk is full
// at times.
class TwoLedgers {
 public:
  explicit TwoLedgers(uint64_t seed)
      : random_(seed),
        names_(Draw(2) == 0 ? 6 : 300),
        // Each call tries again, or only those that end a pass.
        retry_after_(Draw(2) == 0 ? 0 : 3600000),
        loses_(Draw(2) == 0) {
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
  // Each pass has another. Perhaps some are skipped.
  uint64_t NextEpoch() { return epoch_ += 1 + (Draw(3) == 0); }
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
    writer_ = std::make_unique<LedgerWriter>(
        view_, failing_.get(), retry_after_,
        loses_ ? 0 : LedgerWriter::kMostEndedBytes);
  }

  template <typename Sound, typename Write>
  void Both(Sound sound, Write write) {
    const absl::Status done = sound();
    ASSERT_TRUE(done.ok()) << done;
    absl::optional<FullDisk> full;
    if (is_full_) full.emplace(failing_->bytes() + Draw(30));
    write();
  }

  // Whatever is still in memory only, or lost: verify finds nothing that is
  // not so. In particular it proves no more, and claims no violation.
  void CheckPasses() {
    const auto sound = PassesOf(tree_.At("sound"));
    for (const auto& [epoch, pass] : PassesOf(tree_.At("failing"))) {
      SCOPED_TRACE(TextOf(pass));
      const auto same = sound.find(epoch);
      ASSERT_NE(same, sound.end());
      EXPECT_EQ(pass.begin.binding, same->second.begin.binding);
      EXPECT_LE(pass.consumed, same->second.consumed);
      EXPECT_LE(pass.twice, same->second.twice);
      EXPECT_LE(pass.unnamed, same->second.unnamed);
      EXPECT_LE(pass.bound_anew, same->second.bound_anew);
    }
  }

  // On a disk with space the ledger has each pass as it was.
  void CheckAll() {
    std::vector<std::string> sound, failing;
    for (const auto& [_, pass] : PassesOf(tree_.At("sound"))) {
      sound.push_back(TextOf(pass));
    }
    for (const auto& [_, pass] : PassesOf(tree_.At("failing"))) {
      failing.push_back(TextOf(pass));
    }
    EXPECT_EQ(failing, sound);
  }

  void Step() {
    if (Draw(6) == 0) is_full_ = !is_full_;
    if (Draw(8) == 0) CheckPasses();
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
      case 5:
        return Adopt();
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
    CheckPasses();
    if (!loses_) CheckAll();
    last_ = state;
    LedgerState next = *state;
    next.begin.view = view_;
    readers_ = writer_->AnnounceReaders();
    Both([&] { return sound_->Continue(next); },
         [&] { writer_->Continue(next); });
  }

  void Begin() {
    LedgerEpoch epoch = SomeEpoch(binding_ = NextEpoch(), names_);
    epoch.view = view_;
    epoch.reactive = reactive_ = Draw(2) == 0;
    epoch.carried = {PairOf(1), PairOf(5)};
    const std::vector<CarriedPair> seen = BeginPass();
    readers_ = writer_->AnnounceReaders();
    Both([&] { return sound_->BeginEpoch(epoch, seen); },
         [&] { writer_->BeginEpoch(epoch, seen); });
  }

  void Hold() {
    const LedgerHold hold{view_, Epoch(NextEpoch()), Draw(2) == 0 ? 'b' : 'c',
                          "partial"};
    const std::vector<CarriedPair> seen = BeginPass();
    Both([&] { return sound_->Hold(hold, reactive_, seen); },
         [&] { writer_->Hold(hold, reactive_, seen); });
  }

  // What was under way at the last restart goes on as another epoch.
  void Adopt() {
    if (!last_) return;
    LedgerState state = *last_;
    state.begin.view = view_;
    state.begin.epoch = Epoch(NextEpoch());
    binding_ = state.begin.binding.value();
    reactive_ = state.begin.reactive;
    opened_.clear();
    for (const CarriedPair& pair : state.bound) opened_.insert(pair.name);
    readers_ = writer_->AnnounceReaders();
    Both([&] { return sound_->Adopt(state); }, [&] { writer_->Adopt(state); });
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
  const bool loses_;  // passes that end, but the last
  uint8_t view_ = 1;
  bool reactive_ = false;
  uint64_t epoch_ = 0;  // of the running pass, with all holds
  uint64_t binding_ = 0;
  std::set<uint64_t> opened_;         // names, in this pass
  absl::optional<LedgerState> last_;  // at the last restart
  uint64_t readers_ = 0;
  bool is_full_ = false;
  std::unique_ptr<Ledger> sound_, failing_;
  std::unique_ptr<LedgerWriter> writer_;
};

TEST(LedgerWriterProperty, AFullDiskChangesNothingThatIsReadFromALedger) {
  const uint64_t runs = testing_support::SoakRounds<uint64_t>(
      testing_support::Rounds<uint64_t>(100), 5000);
  for (uint64_t seed = 1; seed <= runs; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    TwoLedgers(seed).Run(150);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace shufflefs
