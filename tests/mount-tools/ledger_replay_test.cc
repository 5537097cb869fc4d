// SPDX-License-Identifier: Apache-2.0
// shufflectl verify without a mount: a view writes the ledger, the replay
// makes its bindings again from the state directory.
#include "mount-tools/ctl/verify/ledger_replay.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/catalogue/catalogue_file.h"
#include "core/engine/policy_resolver.h"
#include "core/engine/state_dir.h"
#include "core/ledger/ledger.h"
#include "core/view/view.h"
#include "fs/control/order_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mount-tools/config/tier_capacity.h"
#include "policies/registry.h"
#include "tests/core/view/view_fixture.h"
#include "tests/mount-tools/temp_dir.h"

namespace shufflefs {
namespace {

using ::testing::HasSubstr;
using testing_support::ViewFixture;

class LedgerReplayTest : public ::testing::Test {
 protected:
  LedgerReplayTest() : fixture_(4, 30, /*pairs=*/true) {
    config_.source = fixture_.tree.root();
    config_.mountpoint = "/nowhere";
    config_.state = state_.path();
    config_.views = {ViewFixture::Config("lirs")};
    EXPECT_NE(fixture_.Setup(config_.views[0]), nullptr);  // scans
    EXPECT_TRUE(
        SaveCatalogue(*fixture_.catalogue, CataloguePath(state_.path())).ok());
  }

  std::unique_ptr<Ledger> OpenLedger() {
    absl::StatusOr<std::unique_ptr<Ledger>> ledger =
        Ledger::Open(LedgerPath(state_.path()), Ledger::Options{});
    EXPECT_TRUE(ledger.ok()) << ledger.status();
    return *std::move(ledger);
  }

  LedgerReplay MakeReplay() {
    absl::StatusOr<LedgerReplay> replay = LedgerReplay::Make(config_);
    EXPECT_TRUE(replay.ok()) << replay.status();
    return *std::move(replay);
  }

  // A view as a mount of `config_` has it.
  std::unique_ptr<View> MountView(const ViewConfig& config, Ledger* ledger) {
    View::Parts parts;
    parts.tools = ToolsWithoutMount(*fixture_.source, AllPolicies(), &config_);
    auto setup =
        MakeViewSetup(config, fixture_.catalogue, parts.tools, nullptr);
    EXPECT_TRUE(setup.ok()) << setup.status();
    parts.setup = *std::move(setup);
    parts.ledger = ledger;
    parts.id = next_id_++;
    parts.job_tracker = &fixture_.job_tracker;
    parts.on_rebind = [](bool) {};
    return std::make_unique<View>(std::move(parts));
  }

  // Whether the ledger's last epoch is proven, and is what `view` shows.
  void ExpectProven(const View& view) {
    LedgerReplay replay = MakeReplay();
    const absl::StatusOr<LedgerProof> proof = replay.Verify();
    ASSERT_TRUE(proof.ok()) << proof.status();
    const EpochProof& last = proof->epochs.back();
    EXPECT_TRUE(last.bijection.ok()) << last.bijection;
    const absl::StatusOr<LedgerReplay::Replayed> replayed =
        replay.Replay(last.begin);
    ASSERT_TRUE(replayed.ok()) << replayed.status();
    const bool ranked = view.config().layout == Layout::kRanked;
    const std::string order = OrderText(
        *view.binding(), ranked ? view.setup()->ranked.get() : nullptr);
    EXPECT_EQ(LedgerReplay::CompareOrder(order, *replayed), absl::OkStatus());
  }

  static ControlRequest Next(const ViewConfig& config) {
    ControlRequest request;
    request.config = config;
    request.config_changed = true;
    request.next_epoch = true;
    return request;
  }

  static void Write(View& view, const ControlRequest& request) {
    absl::StatusOr<View::Prepared> prepared = view.Prepare(request);
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    EXPECT_EQ(view.Install(*std::move(prepared)), absl::OkStatus());
  }

  const TempDir state_;
  ViewFixture fixture_;
  MountConfig config_;
  uint8_t next_id_ = 0;
};

TEST_F(LedgerReplayTest, EpochsOfSeveralPoliciesAreProven) {
  const std::unique_ptr<Ledger> ledger = OpenLedger();
  const std::unique_ptr<View> view =
      fixture_.MakeView(config_.views[0], ledger.get());
  ViewConfig window = config_.views[0];
  window.policy = "window";
  window.seed = Seed(9);
  Write(*view, Next(window));
  LedgerReplay replay = MakeReplay();
  const absl::StatusOr<LedgerProof> proof = replay.Verify();
  ASSERT_TRUE(proof.ok()) << proof.status();
  ASSERT_EQ(proof->epochs.size(), 2u);
  EXPECT_EQ(proof->epochs[0].begin.policy, "lirs");
  EXPECT_EQ(proof->epochs[1].begin.policy, "window");
  for (const EpochProof& epoch : proof->epochs) {
    EXPECT_TRUE(epoch.bijection.ok()) << epoch.bijection;
  }
  // What the view shows is what the ledger says.
  const absl::StatusOr<LedgerReplay::Replayed> replayed =
      replay.Replay(proof->epochs[1].begin);
  ASSERT_TRUE(replayed.ok()) << replayed.status();
  const std::string order = OrderText(*view->binding(), nullptr);
  EXPECT_TRUE(LedgerReplay::CompareOrder(order, *replayed).ok());
  // The other epoch's is not.
  const absl::StatusOr<LedgerReplay::Replayed> other =
      replay.Replay(proof->epochs[0].begin);
  const absl::Status wrong = LedgerReplay::CompareOrder(order, *other);
  EXPECT_TRUE(absl::IsDataLoss(wrong));
  EXPECT_THAT(std::string(wrong.message()),
              ::testing::MatchesRegex("the mount shows c.* as c.* at rank .*, "
                                      "the ledger says c.* at rank .*"));
}

TEST_F(LedgerReplayTest, ARankedOrderIsCompared) {
  config_.views[0].layout = Layout::kRanked;
  const std::unique_ptr<Ledger> ledger = OpenLedger();
  const std::unique_ptr<View> view =
      fixture_.MakeView(config_.views[0], ledger.get());
  LedgerReplay replay = MakeReplay();
  const absl::StatusOr<LedgerProof> proof = replay.Verify();
  ASSERT_TRUE(proof.ok()) << proof.status();
  const absl::StatusOr<LedgerReplay::Replayed> replayed =
      replay.Replay(proof->epochs.at(0).begin);
  ASSERT_TRUE(replayed.ok()) << replayed.status();
  std::string order = OrderText(*view->binding(), view->setup()->ranked.get());
  const absl::Status same = LedgerReplay::CompareOrder(order, *replayed);
  EXPECT_TRUE(same.ok()) << same;
  order[0] = '5';  // the rank of the first line
  EXPECT_TRUE(absl::IsDataLoss(LedgerReplay::CompareOrder(order, *replayed)));
}

// Some samples come several times, and others not at all.
TEST_F(LedgerReplayTest, ARankedOrderThatRepeatsIsCompared) {
  ViewConfig& config = config_.views[0];
  config.policy = "met";
  config.layout = Layout::kRanked;
  config.policy_options.Set("met.epochs", 4);
  config.policy_options.Set("met.repeat", 2);
  config.policy_options.Set("met.mini_epochs", 8);
  const std::unique_ptr<Ledger> ledger = OpenLedger();
  const std::unique_ptr<View> view = MountView(config, ledger.get());
  const LedgerReplay::Replayed live{view->setup(), view->binding()};
  for (int epoch = 0; epoch < 4; ++epoch) {
    if (epoch > 0) Write(*view, Next(config));
    ExpectProven(*view);
  }
  std::string order = OrderText(*live.binding, live.setup->ranked.get());
  EXPECT_EQ(LedgerReplay::CompareOrder(order, live), absl::OkStatus());
  // A line less, or with another rank, is found.
  const size_t end = order.find('\n') + 1;
  EXPECT_TRUE(
      absl::IsDataLoss(LedgerReplay::CompareOrder(order.substr(end), live)));
  order.replace(0, 1, "239");
  EXPECT_TRUE(absl::IsDataLoss(LedgerReplay::CompareOrder(order, live)));
  order.replace(0, 3, "240");  // there is no such rank
  EXPECT_TRUE(absl::IsDataLoss(LedgerReplay::CompareOrder(order, live)));
}

// The mini-epochs follow from the size of the tier, whose views share it.
TEST_F(LedgerReplayTest, ARankedOrderOfATierIsMadeAgain) {
  config_.tier_path = state_.path();
  config_.tier_capacity = 100000;
  ViewConfig& config = config_.views[0];
  config.policy = "met";
  config.layout = Layout::kRanked;
  config.path = "c1";
  config_.views.push_back(config);
  config_.views[1].path = "c2";
  const std::unique_ptr<Ledger> ledger = OpenLedger();
  ExpectProven(*MountView(config_.views[0], ledger.get()));
  // Another size: nothing is proven, and nothing is broken.
  config_.tier_capacity = 50000;
  LedgerReplay replay = MakeReplay();
  const absl::StatusOr<LedgerProof> proof = replay.Verify();
  ASSERT_TRUE(proof.ok()) << proof.status();
  EXPECT_TRUE(absl::IsFailedPrecondition(proof->epochs.at(0).bijection));
}

TEST_F(LedgerReplayTest, APercentageOfTheTiersDeviceIsItsSize) {
  config_.tier_path = state_.path();
  config_.tier_percent = 1;
  ViewConfig& config = config_.views[0];
  config.policy = "met";
  config.substitute = Substitute::kNever;
  config.policy_options.Set("met.epochs", 4);
  config.policy_options.Set("met.repeat", 2);
  const std::unique_ptr<Ledger> ledger = OpenLedger();
  ASSERT_EQ(FindTierCapacity(config_), absl::OkStatus());
  EXPECT_GT(config_.tier_capacity, 0u);
  const std::unique_ptr<View> view = MountView(config, ledger.get());
  config_.tier_capacity = 0;  // as the control file says it
  ExpectProven(*view);
  // A device that is gone: what needs its size is not proven.
  config_.tier_path += "/gone";
  LedgerReplay replay = MakeReplay();
  const absl::StatusOr<LedgerProof> proof = replay.Verify();
  ASSERT_TRUE(proof.ok()) << proof.status();
  EXPECT_TRUE(absl::IsFailedPrecondition(proof->epochs.at(0).bijection));
}

TEST_F(LedgerReplayTest, AViewWithAnotherInsideIsProven) {
  config_.views.push_back(config_.views[0]);
  config_.views[1].path = "c1";
  const std::unique_ptr<Ledger> ledger = OpenLedger();
  for (const ViewConfig& config : config_.views) {
    ExpectProven(*MountView(config, ledger.get()));
  }
}

TEST_F(LedgerReplayTest, AnOrderThatLacksFilesIsFound) {
  const std::unique_ptr<Ledger> ledger = OpenLedger();
  const std::unique_ptr<View> view =
      fixture_.MakeView(config_.views[0], ledger.get());
  const LedgerReplay::Replayed live{view->setup(), view->binding()};
  std::string order = OrderText(*live.binding, nullptr);
  EXPECT_TRUE(LedgerReplay::CompareOrder(order, live).ok());
  order.resize(order.rfind('\n', order.size() - 2) + 1);
  EXPECT_EQ(LedgerReplay::CompareOrder(order, live).message(),
            "the mount's order lists 239 files of 240");
  EXPECT_EQ(LedgerReplay::CompareOrder("0\tgone\tgone\n", live).message(),
            "the mount shows gone as gone at rank 0, the ledger says that "
            "there is no such name");
}

TEST_F(LedgerReplayTest, OtherKeysOrDataCannotBeReplayed) {
  const std::unique_ptr<Ledger> ledger = OpenLedger();
  const std::unique_ptr<View> view =
      fixture_.MakeView(config_.views[0], ledger.get());
  const auto why = [&] {
    LedgerReplay replay = MakeReplay();
    const absl::StatusOr<LedgerProof> proof = replay.Verify();
    EXPECT_TRUE(proof.ok()) << proof.status();
    EXPECT_TRUE(absl::IsFailedPrecondition(proof->epochs.at(0).bijection));
    EXPECT_FALSE(proof->broken());
    return std::string(proof->epochs.at(0).bijection.message());
  };
  config_.views[0].pair = PairMode::kOff;
  EXPECT_EQ(why(),
            "other keys, other groups or other places of files on the device "
            "were in effect then");
  config_.views[0] = ViewFixture::Config("lirs");
  config_.views[0].path = "c1";
  EXPECT_EQ(why(), "the mount has no such view now");
  config_.views[0] = ViewFixture::Config("lirs");
  fixture_.tree.File("c1/one_more.jpg");
  EXPECT_TRUE(
      SaveCatalogue(fixture_.tree.Scanned(), CataloguePath(state_.path()))
          .ok());
  EXPECT_EQ(why(), "the dataset was another one then");
}

TEST_F(LedgerReplayTest, ErrorsNameWhatIsMissing) {
  config_.state += "/gone";
  EXPECT_THAT(std::string(LedgerReplay::Make(config_).status().message()),
              HasSubstr(config_.state + "/catalogue"));
}

// The order of a reactive epoch, as far as names are bound.
TEST_F(LedgerReplayTest, WhatIsBoundIsCompared) {
  const std::unique_ptr<View> view = fixture_.MakeView(config_.views[0]);
  const LedgerReplay::Replayed live{view->setup(), view->binding()};
  const Grouping& grouping = live.setup->dataset->grouping();
  const auto path = [&](uint64_t sample, uint32_t column = 0) {
    const GroupId group = grouping.group_of(SampleId(sample));
    return fixture_.catalogue->path(grouping.member(
        group,
        static_cast<uint32_t>(sample - grouping.group(group).first_sample),
        column));
  };
  const auto line = [&](uint64_t name, uint64_t sample) {
    std::string lines;
    for (uint32_t column = 0; column < 2; ++column) {
      absl::StrAppend(&lines, "0\t", path(name, column), "\t",
                      path(sample, column), "\n");
    }
    return lines;
  };
  const auto compare = [&](const std::string& order,
                           const std::vector<NameBinding>& bound) {
    return LedgerReplay::CompareBound(order, live, bound);
  };
  EXPECT_TRUE(compare("", {}).ok());
  const std::string order = line(3, 5) + line(35, 31) + line(0, 0);
  EXPECT_TRUE(compare(order, {{3, 5}, {35, 31}}).ok());
  EXPECT_EQ(compare(order, {{3, 5}, {35, 32}}).message(),
            absl::StrCat("the mount shows ", path(31), " as ", path(35),
                         ", the ledger says ", path(32)));
  EXPECT_EQ(compare(order, {{5, 3}}).message(),
            absl::StrCat("the mount shows nothing yet as ", path(5),
                         ", the ledger says ", path(3)));
  EXPECT_EQ(compare(order + line(7, 30), {}).message(),
            absl::StrCat("the mount shows ", path(30), " as ", path(7),
                         ", which is not of its group"));
  // The two files of a name show those of one sample.
  EXPECT_EQ(compare(absl::StrCat("0\t", path(3), "\t", path(5), "\n0\t",
                                 path(3, 1), "\t", path(6, 1), "\n"),
                    {})
                .message(),
            absl::StrCat("the mount shows files of two samples as those of ",
                         path(3, 1)));
  EXPECT_TRUE(absl::IsDataLoss(
      compare(absl::StrCat("0\t", path(3), "\t", path(5, 1), "\n"), {})));
  EXPECT_TRUE(absl::IsDataLoss(compare("0\tgone\tgone\n", {})));
}

}  // namespace
}  // namespace shufflefs
