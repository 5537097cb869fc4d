// SPDX-License-Identifier: Apache-2.0
// What a view writes to its ledger, and how it goes on from there.
#include <map>
#include <random>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "core/ledger/ledger_reader.h"
#include "core/verify/proof_collector.h"
#include "core/view/epoch_journal.h"
#include "core/view/live_epoch.h"
#include "core/view/view.h"
#include "gmock/gmock.h"
#include "tests/core/ledger/ledger_fixture.h"
#include "tests/core/view/view_fixture.h"

namespace shufflefs {
namespace {

using std::chrono::milliseconds;
using testing_support::OpenName;
using testing_support::Pass;
using testing_support::ViewFixture;

class SwitchLines : public LedgerVisitor {
 public:
  void OnSwitch(const LedgerSwitch& change) override {
    lines.push_back(std::to_string(change.epoch.value()) + ": " + change.what);
  }
  std::vector<std::string> lines;
};

TEST(ViewLedgerTest, AfterARestartASwitchStillWaitsForTheBoundary) {
  ViewFixture fixture(2, 50);
  testing_support::TempTree state;
  const ViewConfig config = ViewFixture::Config("lirs");
  {
    auto ledger = Ledger::Open(state.At("ledger"), {});
    ASSERT_TRUE(ledger.ok()) << ledger.status();
    const auto view = fixture.MakeView(config, ledger->get());
    OpenName(*view, fixture.Files()[0], milliseconds(1));
  }
  auto ledger = Ledger::Open(state.At("ledger"), {});
  ASSERT_TRUE(ledger.ok()) << ledger.status();
  const auto view = fixture.MakeView(config, ledger->get());
  ControlRequest request;
  request.config = ViewFixture::Config("window");
  request.config_changed = true;
  EXPECT_EQ(view->Install(*view->Prepare(request)), absl::OkStatus());
  EXPECT_EQ(view->setup()->policy->name(), "lirs");
  EXPECT_EQ(view->EpochStatus().state, "waiting");
}

TEST(ViewLedgerTest, AfterARestartASwitchThatWaitedWaitsOn) {
  ViewFixture fixture(2, 50);
  testing_support::TempTree state;
  const ViewConfig old_config = ViewFixture::Config("lirs");
  const ViewConfig new_config = ViewFixture::Config("window");
  EntryId shown{0};
  {
    auto ledger = Ledger::Open(state.At("ledger"), {});
    ASSERT_TRUE(ledger.ok()) << ledger.status();
    const auto view = fixture.MakeView(old_config, ledger->get());
    shown = OpenName(*view, fixture.Files()[0], milliseconds(1));
    ControlRequest request;
    request.config = new_config;
    request.config_changed = true;
    EXPECT_EQ(view->Install(*view->Prepare(request)), absl::OkStatus());
  }
  auto ledger = Ledger::Open(state.At("ledger"), {});
  ASSERT_TRUE(ledger.ok()) << ledger.status();
  View::Parts parts = fixture.Parts(new_config);
  parts.running = fixture.Setup(old_config);
  parts.ledger = ledger->get();
  View view(std::move(parts));
  EXPECT_EQ(view.setup()->policy->name(), "lirs");
  EXPECT_EQ(view.config().policy, "window");
  EXPECT_EQ(view.EpochStatus().state, "waiting");
  EXPECT_EQ(*view.EpochStatus().consumed, 1u);
  EXPECT_EQ(view.Lookup(fixture.Files()[0]).shown, shown);
  ControlRequest next;
  next.next_epoch = true;
  EXPECT_EQ(view.Install(*view.Prepare(next)), absl::OkStatus());
  EXPECT_EQ(view.setup()->policy->name(), "window");
  EXPECT_EQ(view.EpochStatus().epoch, Epoch(1));
}

TEST(ViewLedgerTest, ASwitchThatHadHappenedWasNotWaitedFor) {
  ViewFixture fixture(2, 50);
  testing_support::TempTree state;
  const ViewConfig new_config = ViewFixture::Config("window");
  {
    auto ledger = Ledger::Open(state.At("ledger"), {});
    ASSERT_TRUE(ledger.ok()) << ledger.status();
    fixture.MakeView(new_config, ledger->get());
  }
  auto ledger = Ledger::Open(state.At("ledger"), {});
  ASSERT_TRUE(ledger.ok()) << ledger.status();
  View::Parts parts = fixture.Parts(new_config);
  parts.running = fixture.Setup(ViewFixture::Config("lirs"));
  parts.ledger = ledger->get();
  const View view(std::move(parts));
  EXPECT_EQ(view.setup()->policy->name(), "window");
  EXPECT_EQ(view.EpochStatus().state, "running");
}

TEST(ViewLedgerTest, ContinuesTheLedgersEpoch) {
  ViewFixture fixture(2, 100);
  testing_support::TempTree state;
  const std::string path = state.At("ledger");
  milliseconds now{0};
  std::mt19937 random(5);
  const ViewConfig config = ViewFixture::Config("lirs");
  std::map<EntryId, EntryId> before;
  {
    auto ledger = Ledger::Open(path, {});
    ASSERT_TRUE(ledger.ok()) << ledger.status();
    const auto view = fixture.MakeView(config, ledger->get());
    Pass(*view, fixture.Files(), now, random);
    std::vector<EntryId> half = fixture.Files();
    half.resize(100);
    before = Pass(*view, half, now, random);
    EXPECT_EQ(view->EpochStatus().epoch, Epoch(1));
  }
  auto ledger = Ledger::Open(path, {});
  ASSERT_TRUE(ledger.ok()) << ledger.status();
  const auto view = fixture.MakeView(config, ledger->get());
  EXPECT_EQ(view->EpochStatus().epoch, Epoch(1));
  EXPECT_EQ(*view->EpochStatus().consumed, 100u);
  for (const auto& [name, file] : before) {
    EXPECT_EQ(view->Lookup(name).shown, file);
  }
}

class BoundaryTest : public testing::Test {
 protected:
  void Start(const ViewConfig& config) {
    view_.reset();
    ledger_.reset();
    auto ledger = Ledger::Open(state_.At("ledger"), {});
    ASSERT_TRUE(ledger.ok()) << ledger.status();
    ledger_ = *std::move(ledger);
    view_ = fixture_.MakeView(config, ledger_.get());
  }

  ViewFixture fixture_{2, 150};
  testing_support::TempTree state_;
  std::unique_ptr<Ledger> ledger_;
  std::unique_ptr<View> view_;
};

// [S-3.12i] At whatever open of a pass the daemon ends, the pass shows every
// sample once.
// The first opens are not yet known to be of a new epoch, and what they showed
// counts for it all the same.
TEST_F(BoundaryTest, WhereverADaemonEndsAPassShowsEverySampleOnce) {
  const ViewConfig config = ViewFixture::Config("lirs");
  Start(config);
  const std::vector<EntryId> files = fixture_.Files();
  milliseconds now{0};
  std::mt19937 random(11);
  for (const size_t ends_after : {1, 5, 9, 20, 40, 60, 100, 3, 7, 290, 2}) {
    SCOPED_TRACE(ends_after);
    std::vector<EntryId> names = files;
    testing_support::Shuffle(names, random);
    std::set<EntryId> shown;
    for (size_t i = 0; i < names.size(); ++i) {
      if (i == ends_after) Start(config);
      now += milliseconds(100);
      shown.insert(OpenName(*view_, names[i], now));
    }
    EXPECT_EQ(shown.size(), files.size());
  }
  EXPECT_GE(view_->EpochStatus().epoch.value(), 10u);
}

TEST_F(BoundaryTest, ARestartInEveryFewOpensLosesNothing) {
  const ViewConfig config = ViewFixture::Config("lirs");
  Start(config);
  const std::vector<EntryId> files = fixture_.Files();
  milliseconds now{0};
  std::mt19937 random(12);
  for (int pass = 0; pass < 6; ++pass) {
    SCOPED_TRACE(pass);
    std::vector<EntryId> names = files;
    testing_support::Shuffle(names, random);
    std::set<EntryId> shown;
    for (const EntryId name : names) {
      now += milliseconds(100);
      shown.insert(OpenName(*view_, name, now));
      if (random() % 4 == 0) {
        Start(config);
        // The answer was lost, so the reader asks again.
        EXPECT_TRUE(shown.contains(OpenName(*view_, name, now)));
      }
    }
    EXPECT_EQ(shown.size(), files.size());
  }
  EXPECT_GE(view_->EpochStatus().epoch.value(), 5u);
}

// Names that are opened all day do not fill the disk. If they were not all
// written down before a crash, nobody knows where the passes of who reads on
// begin, so each of their ends is only counted.
TEST_F(BoundaryTest, ReopensBeyondABoundAreNotWrittenDown) {
  const ViewConfig config = ViewFixture::Config("lirs");
  Start(config);
  const std::vector<EntryId> files = fixture_.Files();
  milliseconds now{0};
  for (int i = 0; i < 70000; ++i) {
    now += milliseconds(20000);
    OpenName(*view_, files[static_cast<size_t>(i % 4)], now);
  }
  EXPECT_LT(ledger_->bytes(), 4u << 20);
  Start(config);
  std::mt19937 random(13);
  Pass(*view_, files, now, random);
  Pass(*view_, files, now, random);
  EXPECT_EQ(view_->EpochStatus().hold_reason, "lost");
}

TEST(ViewLedgerTest, WritesSwitchesToTheLedgerWhenTheyTakeEffect) {
  ViewFixture fixture(2, 50);
  testing_support::TempTree state;
  const std::string path = state.At("ledger");
  auto ledger = Ledger::Open(path, {});
  ASSERT_TRUE(ledger.ok()) << ledger.status();
  const auto view =
      fixture.MakeView(ViewFixture::Config("lirs"), ledger->get());
  const auto change = [&](auto edit) {
    ControlRequest request;
    request.config = view->config();
    edit(request.config);
    request.config_changed = true;
    EXPECT_EQ(view->Install(*view->Prepare(request)), absl::OkStatus());
  };
  const auto switches = [&] {
    SwitchLines lines;
    EXPECT_TRUE(ReplayLedger(path, lines).ok());
    return lines.lines;
  };
  OpenName(*view, fixture.Files()[0], milliseconds(1));
  change([](ViewConfig& config) { config.policy = "window"; });
  change([](ViewConfig& config) { config.seed = Seed(6); });
  EXPECT_THAT(switches(), ::testing::IsEmpty());  // they wait
  ControlRequest next;
  next.next_epoch = true;
  EXPECT_EQ(view->Install(*view->Prepare(next)), absl::OkStatus());
  EXPECT_THAT(switches(),
              ::testing::ElementsAre("1: policy lirs to window, seed 0 to 6"));
  change([](ViewConfig& config) {
    config.policy_options.Set("window.samples", 7);
  });
  change([](ViewConfig& config) { config.epoch_pad = 1; });
  EXPECT_THAT(switches(), ::testing::ElementsAre(
                              "1: policy lirs to window, seed 0 to 6",
                              "1: keys of the policies", "1: other keys"));
}

class FullDiskTest : public BoundaryTest {
 protected:
  static constexpr uint64_t kBytes = 1 << 16;  // the file before it grows

  // Another view writes until only this many words are left.
  void FillTo(uint64_t left) {
    LedgerEpoch other = testing_support::SomeEpoch(0, 1 << 20);
    other.view = 9;
    other.view_path = "other";
    ASSERT_TRUE(ledger_->BeginEpoch(other).ok());
    for (uint64_t i = 0; ledger_->bytes() / 8 + left < kBytes / 8; ++i) {
      ASSERT_TRUE(ledger_->Consumed(9, i).ok());
    }
  }
  // Of the view, a line a pass: its epoch and how much was consumed.
  std::vector<std::string> Passes() const {
    ProofCollector collector;
    EXPECT_EQ(ReplayLedger(state_.At("ledger"), collector), absl::OkStatus());
    std::vector<std::string> passes;
    for (const CollectedPass& pass : collector.Take()) {
      const EpochProof& proof = pass.proof;
      if (proof.begin.view_path == "other") continue;
      EXPECT_FALSE(proof.broken());
      passes.push_back(
          absl::StrCat(proof.begin.epoch.value(), ": ", proof.consumed));
    }
    return passes;
  }
  // Opens names `first` to `last` - 1.
  void Read(size_t first, size_t last) {
    const std::vector<EntryId> files = fixture_.Files();
    for (size_t i = first; i < last; ++i) {
      OpenName(*view_, files[i], now_ += milliseconds(100));
    }
  }
  void NextEpoch() {
    ControlRequest next;
    next.next_epoch = true;
    EXPECT_EQ(view_->Install(*view_->Prepare(next)), absl::OkStatus());
  }
  static void WaitForRetry() {
    std::this_thread::sleep_for(LedgerWriter::kRetryAfter);
  }

  milliseconds now_{0};
};

// What is opened in an epoch never counts for the one before.
TEST_F(FullDiskTest, AnEpochThatCannotBeRecordedIsRecordedLater) {
  const ViewConfig config = ViewFixture::Config("lirs");
  Start(config);
  Read(0, 300);
  FillTo(4);
  {
    const testing_support::FullDisk full(kBytes);
    NextEpoch();
    Read(0, 10);
    EXPECT_THAT(Passes(), ::testing::ElementsAre("0: 300"));
    EXPECT_THAT(view_->EpochStatus().warnings,
                ::testing::Contains(::testing::HasSubstr("in memory only")));
  }
  WaitForRetry();
  Read(10, 11);
  EXPECT_THAT(Passes(), ::testing::ElementsAre("0: 300", "1: 11"));
  EXPECT_THAT(view_->EpochStatus().warnings, ::testing::IsEmpty());
  Read(11, 12);
  Start(config);
  EXPECT_EQ(view_->EpochStatus().epoch, Epoch(1));
  EXPECT_EQ(*view_->EpochStatus().consumed, 12u);
}

// Neither a sample nor its place in the order is forgotten.
TEST_F(FullDiskTest, WhatIsReadMeanwhileIsRecordedLater) {
  const ViewConfig config = ViewFixture::Config("lirs");
  Start(config);
  Read(0, 300);
  NextEpoch();
  Read(0, 100);
  FillTo(4);
  {
    const testing_support::FullDisk full(kBytes);
    Read(100, 150);
    EXPECT_THAT(view_->EpochStatus().warnings,
                ::testing::Contains(::testing::HasSubstr("in memory only")));
  }
  Read(150, 299);
  Start(config);
  EXPECT_EQ(*view_->EpochStatus().consumed, 299u);
  EXPECT_THAT(view_->EpochStatus().warnings, ::testing::IsEmpty());
  Read(299, 300);
  EXPECT_THAT(Passes(), ::testing::ElementsAre("0: 300", "1: 300"));
}

TEST_F(FullDiskTest, TheEndOfTheViewTriesOnceMore) {
  Start(ViewFixture::Config("lirs"));
  Read(0, 300);
  FillTo(4);
  {
    const testing_support::FullDisk full(kBytes);
    NextEpoch();
    Read(0, 10);
  }
  view_.reset();
  EXPECT_THAT(Passes(), ::testing::ElementsAre("0: 300", "1: 10"));
}

// The next boundary does not wait to try again. Of epochs that ended meanwhile
// the ledger has the last ones.
TEST_F(FullDiskTest, OldEpochsThatEndedMeanwhileAreLeftOut) {
  constexpr size_t kMost = LedgerWriter::kMostEnded;
  Start(ViewFixture::Config("lirs"));
  Read(0, 300);
  FillTo(4);
  {
    const testing_support::FullDisk full(kBytes);
    for (size_t epoch = 1; epoch <= kMost + 3; ++epoch) {
      NextEpoch();
      Read(0, 10 * epoch);
    }
  }
  NextEpoch();
  const std::vector<std::string> passes = Passes();
  ASSERT_EQ(passes.size(), 1 + kMost + 2);
  EXPECT_EQ(passes[0], "0: 300");
  EXPECT_EQ(passes[1], "3: 30");
  EXPECT_EQ(passes[2], "4: 40");
  EXPECT_EQ(passes.back(), absl::StrCat(kMost + 4, ": 0"));
}

TEST_F(FullDiskTest, AHeldEpochThatCannotBeRecordedIsRecordedLater) {
  Start(ViewFixture::Config("lirs"));
  const std::shared_ptr<const ViewSetup> setup = view_->setup();
  const std::shared_ptr<const Binding> binding =
      MakeLiveEpoch(setup, {Epoch(5), {}, false, {}, {}}).binding;
  EpochJournal journal(0, ledger_.get());
  journal.Begun(journal.Record(*setup, *binding, Epoch(5), nullptr), *binding,
                nullptr);
  journal.Consumed(*binding, SampleId(1));
  FillTo(4);
  EpochOutcome outcome;
  {
    const testing_support::FullDisk full(kBytes);
    journal.Held(Epoch(6), outcome, *binding, nullptr);
    journal.Consumed(*binding, SampleId(1));
    journal.Held(Epoch(7), outcome, *binding, nullptr);
    journal.Consumed(*binding, SampleId(1));
    journal.Consumed(*binding, SampleId(2));
  }
  EXPECT_THAT(Passes(), ::testing::ElementsAre("0: 0", "5: 1"));
  EXPECT_NE(journal.Warning(), "");
  WaitForRetry();
  journal.Consumed(*binding, SampleId(3));
  EXPECT_THAT(Passes(), ::testing::ElementsAre("0: 0", "5: 1", "6: 1", "7: 3"));
  EXPECT_EQ(journal.Warning(), "");
}

// Of an epoch that is begun once more, earlier readers read nothing.
TEST_F(FullDiskTest, ReadersOfAPassThatEndedSayNothing) {
  Start(ViewFixture::Config("lirs"));
  const std::shared_ptr<const ViewSetup> setup = view_->setup();
  const std::shared_ptr<const Binding> binding =
      MakeLiveEpoch(setup, {Epoch(5), {}, false, {}, {}}).binding;
  {
    EpochJournal journal(0, ledger_.get());
    const LedgerEpoch record =
        journal.Record(*setup, *binding, Epoch(5), nullptr);
    const auto before = journal.NoterOfContainers(Epoch(5));
    journal.Begun(record, *binding, nullptr);
    const auto now = journal.NoterOfContainers(Epoch(5));
    journal.Begun(record, *binding, nullptr);
    before.read_whole(EntryId(1));
    now.read_whole(EntryId(2));
  }
  view_.reset();
  ledger_.reset();
  auto ledger = Ledger::Open(state_.At("ledger"), {});
  ASSERT_TRUE(ledger.ok()) << ledger.status();
  EXPECT_THAT((*ledger)->TakeLastState("")->containers,
              ::testing::ElementsAre(2));
}

TEST(ViewLedgerTest, AnotherSeedBeginsAnew) {
  ViewFixture fixture(2, 20);
  testing_support::TempTree state;
  ViewConfig config = ViewFixture::Config("lirs");
  config.epoch_start = Epoch(4);
  {
    auto ledger = Ledger::Open(state.At("ledger"), {});
    ASSERT_TRUE(ledger.ok());
    fixture.MakeView(config, ledger->get());
  }
  config.epoch_start = Epoch(0);
  config.seed = Seed(9);
  auto ledger = Ledger::Open(state.At("ledger"), {});
  ASSERT_TRUE(ledger.ok());
  EXPECT_EQ(fixture.MakeView(config, ledger->get())->EpochStatus().epoch,
            Epoch(0));
}

}  // namespace
}  // namespace shufflefs
