// SPDX-License-Identifier: Apache-2.0
// Whenever the disk was full, the ledger then says what one on a sound disk
// says: to a restart, and to verify.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
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
  std::string text = absl::StrCat("epoch ", begin.epoch.value(), "/",
                                  begin.binding.value(), " view ", begin.view,
                                  begin.unexplained ? " unexplained" : "",
                                  " by hand ", begin.by_hand, "\nconsumed");
  state.consumed.ForEach(
      [&](uint64_t sample) { absl::StrAppend(&text, " ", sample); });
  absl::StrAppend(&text, "\nbound, ", state.bound_consumed, " consumed");
  for (const NameBinding& pair : state.bound) {
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

// Of a pass: the seed of its beginning, which no other has, and its epoch,
// which a hold advances.
using PassId = std::pair<uint64_t, uint64_t>;

PassId IdOf(const EpochProof& proof) {
  return {proof.begin.seed.value(), proof.begin.epoch.value()};
}

// What verify counts in a ledger.
std::vector<EpochProof> PassesOf(const std::string& path) {
  ProofCollector collector;
  EXPECT_EQ(ReplayLedger(path, collector), absl::OkStatus());
  std::vector<EpochProof> passes;
  for (CollectedPass& pass : collector.Take()) {
    passes.push_back(std::move(pass.proof));
  }
  return passes;
}

std::string TextOf(const EpochProof& proof) {
  return absl::StrCat("epoch ", proof.begin.epoch.value(), "/",
                      proof.begin.binding.value(), " seed ",
                      proof.begin.seed.value(), ": ", proof.consumed, ", ",
                      proof.twice, " twice, ", proof.unnamed, " unnamed, ",
                      proof.bound_anew, " bound anew");
}

// Does the same in a ledger on a sound disk, and by a writer whose disk is full
// at times, and whose ledger somebody empties.
class TwoLedgers {
 public:
  explicit TwoLedgers(uint64_t seed)
      : random_(seed),
        names_(Draw(2) == 0 ? 6 : 300),
        // Each call tries again, or only those that end a pass.
        retry_after_(Draw(2) == 0 ? 0 : 3600000),
        loses_(Draw(2) == 0),
        most_at_once_(Draw(2) == 0 ? 0 : LedgerWriter::kMostAtOnce) {
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
  uint32_t DrawReasons() { return uint32_t{1} << Draw(32); }
  // A name shows one sample for as long as it is bound.
  NameBinding PairOf(uint64_t name) const {
    return {name, (name + binding_) % names_};
  }
  PassId id() const { return {seed_, epoch_}; }
  // A pass begins with the first of names that are opened in it.
  std::vector<NameBinding> BeginPass(uint64_t bound_anew) {
    opened_.clear();
    again_.clear();
    std::vector<NameBinding> pairs;
    for (uint64_t count = Draw(4); count > 0; --count) {
      const uint64_t name = DrawName();
      if (opened_.insert(name).second) pairs.push_back(PairOf(name));
    }
    consumptions_ = pairs.size();
    bound_anew_[id()] = bound_anew;
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
    LedgerWriter::Limits limits;
    limits.retry_after = retry_after_;
    limits.most_at_once = most_at_once_;
    if (loses_) limits.most_ended_bytes = 0;
    writer_ = std::make_unique<LedgerWriter>(view_, failing_.get(), limits);
  }

  template <typename Sound, typename Write>
  void Both(Sound sound, Write write) {
    const absl::Status done = sound();
    ASSERT_TRUE(done.ok()) << done;
    absl::optional<FullDisk> full;
    if (is_full_) full.emplace(failing_->bytes() + Draw(30));
    write();
  }

  // On a sound disk verify counts what happened.
  std::vector<EpochProof> SoundPasses() const {
    std::vector<EpochProof> passes = PassesOf(tree_.At("sound"));
    EXPECT_EQ(passes.size(), bound_anew_.size());
    for (const EpochProof& pass : passes) {
      const auto known = bound_anew_.find(IdOf(pass));
      if (known == bound_anew_.end()) {
        ADD_FAILURE() << TextOf(pass);
      } else {
        EXPECT_EQ(pass.bound_anew, known->second) << TextOf(pass);
      }
    }
    return passes;
  }

  // Whatever is still in memory only, or lost: verify finds nothing that is
  // not so. In particular it proves no more, and claims no violation.
  void CheckPasses() const {
    std::map<PassId, EpochProof> sound;
    for (EpochProof& pass : SoundPasses()) {
      EXPECT_TRUE(sound.emplace(IdOf(pass), std::move(pass)).second);
    }
    if (is_taken_away_) return;
    for (const EpochProof& pass : PassesOf(tree_.At("failing"))) {
      SCOPED_TRACE(TextOf(pass));
      const auto same = sound.find(IdOf(pass));
      ASSERT_NE(same, sound.end());
      EXPECT_EQ(pass.begin.binding, same->second.begin.binding);
      EXPECT_LE(pass.consumed, same->second.consumed);
      EXPECT_LE(pass.twice, same->second.twice);
      EXPECT_LE(pass.unnamed, same->second.unnamed);
      EXPECT_LE(pass.bound_anew, same->second.bound_anew);
    }
  }

  // On a disk with space the ledger has each pass as it was, but for those from
  // before it was emptied or compacted. It finds each break.
  void CheckAll() const {
    std::vector<EpochProof> sound = SoundPasses();
    std::vector<EpochProof> failing = PassesOf(tree_.At("failing"));
    ASSERT_LE(failing.size(), sound.size());
    ASSERT_GE(failing.size(), least_);
    sound.erase(sound.begin(),
                sound.end() - static_cast<std::ptrdiff_t>(failing.size()));
    // Nothing comes before the first one.
    sound.front().bound_anew = failing.front().bound_anew = 0;
    for (size_t i = 0; i < sound.size(); ++i) {
      EXPECT_EQ(TextOf(failing[i]), TextOf(sound[i]));
    }
  }

  void Step() {
    if (Draw(6) == 0) is_full_ = !is_full_;
    if (Draw(8) == 0) CheckPasses();
    switch (Draw(72)) {
      case 0:
        return Restart();
      case 1:
      case 2:
        return Begin();
      case 3:
        return SetEpoch();
      case 4:
        return Hold();
      case 5:
        return ReadWhole();
      case 6:
        return Compact();
      case 7:
        return Adopt();
      case 8:
        return Forget();
      case 9:
        return Draw(3) == 0 ? TakeAway() : Forget();
      default:
        return Draw(3) == 0 ? OpenAgain() : Consume();
    }
  }

  // On a disk with space the ledger has everything. Under another number, a
  // pass that goes on is written once more.
  void Restart() {
    if (is_lost_) Begin();  // else it would go on with another epoch
    writer_->Close();
    sound_.reset();
    failing_.reset();
    is_taken_away_ = false;
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

  void BeginWith(const std::vector<uint64_t>& retained, uint64_t bound_anew) {
    binding_ = epoch_;
    LedgerEpoch epoch = SomeEpoch(epoch_, names_);
    epoch.view = view_;
    epoch.seed = Seed(++seed_);
    epoch.reactive = reactive_ = Draw(2) == 0;
    epoch.by_hand = Draw(2) == 0 ? 0 : DrawReasons();
    epoch.retained.clear();
    for (const uint64_t name : retained) epoch.retained.push_back(PairOf(name));
    const std::vector<NameBinding> seen = BeginPass(bound_anew);
    readers_ = writer_->AnnounceReaders();
    Both([&] { return sound_->BeginEpoch(epoch, seen); },
         [&] { writer_->BeginEpoch(epoch, seen); });
    NoteBeginning();
  }

  // By itself. Perhaps it retains less than it should, which is a fault.
  void Begin() {
    std::set<uint64_t> retained = {1, 5};
    std::set<uint64_t> lost;
    for (const uint64_t name : again_) {
      if (!retained.contains(name)) lost.insert(name);
    }
    if (Draw(2) == 0) retained.merge(lost);
    ++epoch_;
    BeginWith({retained.begin(), retained.end()}, lost.size());
  }

  // By control, which retains nothing.
  void SetEpoch() {
    epoch_ = Draw(2) == 0 ? epoch_ : Draw(epoch_ + 3);
    BeginWith({}, 0);
  }

  void Hold() {
    ++epoch_;
    const LedgerHold hold{view_, Epoch(epoch_), Draw(2) == 0 ? 'b' : 'c',
                          "partial"};
    const std::vector<NameBinding> seen = BeginPass(0);
    Both([&] { return sound_->Hold(hold, reactive_, seen); },
         [&] { writer_->Hold(hold, reactive_, seen); });
    if (!is_lost_) ++least_;
  }

  // A token brings back what was under way at the last restart.
  void Adopt() {
    if (!last_) return;
    LedgerState state = *last_;
    state.begin.view = view_;
    epoch_ = Draw(2) == 0 ? epoch_ + 1 : Draw(epoch_ + 3);
    state.begin.epoch = Epoch(epoch_);
    state.begin.seed = Seed(++seed_);
    binding_ = state.begin.binding.value();
    reactive_ = state.begin.reactive;
    BeginPass(0);
    opened_.clear();
    for (const NameBinding& pair : state.bound) opened_.insert(pair.name);
    consumptions_ = LedgerPass(state).tally.consumptions;
    again_.insert(state.evidence.again.begin(), state.evidence.again.end());
    readers_ = writer_->AnnounceReaders();
    Both([&] { return sound_->Adopt(LedgerPass::Apart(state)); },
         [&] { writer_->Adopt(state); });
    NoteBeginning();
  }

  void NoteBeginning() {
    if (is_lost_) least_ = 0;
    ++least_;
    is_lost_ = false;
    if (!is_full_) is_taken_away_ = false;
  }

  // Somebody empties the ledger, removes it, or makes it anew. What waits as a
  // whole is recorded all the same.
  void TakeAway() {
    if (is_taken_away_) return;
    const std::string path = tree_.At("failing");
    const uint64_t way = Draw(3);
    if (way == 0) {
      ASSERT_EQ(::truncate(path.c_str(), 0), 0);
    } else {
      ASSERT_EQ(::unlink(path.c_str()), 0);
      if (way == 1) tree_.File("failing", "");
    }
    is_lost_ = is_taken_away_ = true;
  }

  void ReadWhole() {
    // Readers of an earlier epoch may end now.
    LedgerContainers read{Epoch(binding_ - Draw(2)), {Draw(50)}};
    const bool of_readers = Draw(2) == 0;
    if (!of_readers) {
      read.anew = Draw(2) == 0;
      read.by_hand = Draw(2) == 0 ? 0 : DrawReasons();
    }
    Both([&] { return sound_->ReadWhole(view_, read); },
         [&] {
           if (of_readers) {
             writer_->ReadWhole(readers_, read);
           } else {
             writer_->NoteContainers(read);
           }
         });
  }

  // On a full disk it may fail, and then changes nothing.
  void Compact() {
    Both([] { return absl::OkStatus(); },
         [&] {
           if (failing_->Compact().ok()) {
             least_ = std::min<size_t>(least_, LedgerKeep().epochs);
           }
         });
  }

  // A job that opened names again is gone.
  void Forget() {
    again_.clear();
    Both([&] { return sound_->Opened(view_, ForgottenOpens()); },
         [&] { writer_->Opened(ForgottenOpens()); });
  }

  void OpenAgain() {
    LedgerOpens opens;
    opens.opens.push_back(
        {Draw(2) == 0 ? LedgerOpen::Kind::kAgain : LedgerOpen::Kind::kDouble,
         DrawName()});
    opens.untold = Draw(20) == 0 ? 3 : 0;
    const LedgerOpen& open = opens.opens.front();
    if (open.kind == LedgerOpen::Kind::kAgain && consumptions_ >= names_) {
      again_.insert(open.number);
    }
    Both([&] { return sound_->Opened(view_, opens); },
         [&] { writer_->Opened(opens); });
  }

  void Consume() {
    const NameBinding pair = PairOf(DrawName());
    if (!reactive_) {
      ++consumptions_;
      // Perhaps not for the first time, which is proof of a fault.
      Both([&] { return sound_->Consumed(view_, pair.sample); },
           [&] { writer_->Consumed(pair.sample); });
    } else if (opened_.insert(pair.name).second) {
      ++consumptions_;
      if (Draw(2) == 0) {  // its lookup was told before
        PackedPairs told(names_);
        told.Add(pair);
        Both([&] { return sound_->Bound(view_, told); },
             [&] { writer_->Bound(told); });
      }
      Both([&] { return sound_->ConsumedUnder(view_, pair.name, pair.sample); },
           [&] { writer_->ConsumedUnder(pair); });
    }
  }

  TempTree tree_;
  std::mt19937_64 random_;
  const uint64_t names_;
  const milliseconds retry_after_;
  const bool loses_;  // passes that end, but the last
  const uint64_t most_at_once_;
  uint8_t view_ = 1;
  bool reactive_ = false;
  uint64_t epoch_ = 0;  // of the running pass, with all holds
  uint64_t binding_ = 0;
  uint64_t seed_ = 0;
  // In this pass: names that were opened, consumptions, and names that were
  // opened again after all had been.
  std::set<uint64_t> opened_;
  uint64_t consumptions_ = 0;
  std::set<uint64_t> again_;
  // Of each pass, how many names it bound anew that it should have retained.
  std::map<PassId, uint64_t> bound_anew_;
  absl::optional<LedgerState> last_;  // at the last restart
  uint64_t readers_ = 0;
  bool is_full_ = false;
  // The ledger was taken away, and no pass has begun since. Of the running one
  // it has nothing.
  bool is_lost_ = false;
  bool is_taken_away_ = false;  // perhaps it has not begun anew
  size_t least_ = 0;            // passes that it has at least
  std::unique_ptr<Ledger> sound_, failing_;
  std::unique_ptr<LedgerWriter> writer_;
};

// [S-3.10o] Whatever happens to the ledger's disk or file, verify claims no
// violation that was none.
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
