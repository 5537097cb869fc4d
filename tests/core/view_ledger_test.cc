// SPDX-License-Identifier: Apache-2.0
// What a view writes to its ledger, and how it goes on from there.
#include <map>
#include <random>

#include "core/ledger_reader.h"
#include "core/view.h"
#include "gmock/gmock.h"
#include "tests/core/view_fixture.h"

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
  view->Install(*view->Prepare(request));
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
    view->Install(*view->Prepare(request));
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
  view.Install(*view.Prepare(next));
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
    view->Install(*view->Prepare(request));
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
  view->Install(*view->Prepare(next));
  EXPECT_THAT(switches(),
              ::testing::ElementsAre("1: policy lirs to window, seed 0 to 6"));
  change([](ViewConfig& config) { config.policy_options.window_samples = 7; });
  change([](ViewConfig& config) { config.epoch_pad = 1; });
  EXPECT_THAT(switches(), ::testing::ElementsAre(
                              "1: policy lirs to window, seed 0 to 6",
                              "1: keys of the policies", "1: other keys"));
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
