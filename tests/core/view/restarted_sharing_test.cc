// SPDX-License-Identifier: Apache-2.0
// A node that shares names with others is restarted, and what it shared is not
// in its ledger.
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/engine/producer_factory.h"
#include "core/io/make_reader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/pool/test_memory.h"
#include "tests/core/view/view_fixture.h"

namespace shufflefs {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing_support::ViewFixture;

constexpr uint64_t kSharedNames = 60;
const std::vector<std::string> kSharers = {"a:1", "b:1"};

class SilentGroup : public EpochGroup {
 public:
  void Opened(const Open&) override {}
  absl::Status Signal(uint64_t) override { return absl::OkStatus(); }
  absl::Status Switch(const std::string&) override { return absl::OkStatus(); }
  std::string Warning() const override { return ""; }
};

// One node of two. The test is the other one.
class RestartedSharingTest : public ::testing::Test {
 protected:
  RestartedSharingTest() : fixture_(1, kSharedNames) {
    config_.views.push_back(ViewFixture::Config("brand"));
    config_.memory = uint64_t{64} << 20;
    fixture_.Setup(ViewFixture::Config("native"));  // scans
    setenv("SHUFFLEFS_DEVICE", "hdd", 1);
    devices_ = std::make_unique<DeviceFinder>(*fixture_.source);
    unsetenv("SHUFFLEFS_DEVICE");
    places_ = std::make_unique<DeviceAddressFinder>(*fixture_.source, "");
  }
  ~RestartedSharingTest() override { Kill(); }

  void Start(Ledger* ledger = nullptr) {
    ProducerFactory::Parts parts;
    parts.config = &config_;
    parts.source = fixture_.source.get();
    parts.devices = devices_.get();
    parts.places = places_.get();
    parts.job_tracker = &fixture_.job_tracker;
    parts.memory =
        testing_support::TestMemory(MemoryOfAView(config_, Policies()));
    parts.make_reader = [this](const FileReaderOptions& options) {
      return MakeFileReader(*fixture_.source, options);
    };
    factory_ = std::make_unique<ProducerFactory>(parts);
    View::Parts view;
    view.tools = fixture_.Tools();
    view.tools.samples = factory_->maker();
    view.tools.ask = [](const std::string&, const SharedNames::Question&,
                        std::chrono::milliseconds, SharedNames::Answer answer) {
      answer(absl::UnavailableError("it is not asked"));
    };
    view.setup = *MakeViewSetup(config_.views[0], fixture_.catalogue,
                                view.tools, nullptr);
    view.job_tracker = &fixture_.job_tracker;
    view.group = &group_;
    view.on_rebind = [](bool) {};
    view.ledger = ledger;
    view_ = std::make_unique<View>(std::move(view));
  }
  void Kill() {
    view_.reset();
    if (factory_ != nullptr) factory_->Stop();
    factory_.reset();
  }

  void Share(uint64_t epoch) {
    GroupedView::Next next;
    next.epoch = epoch;
    next.members = kSharers;
    next.self = self_;
    view_->grouped()->BeginEpoch(next);
  }
  // Where files lie decides who owns their names. Starts the node that owns
  // more than a few.
  void StartAnOwner(uint64_t epoch) {
    for (const std::string& self : kSharers) {
      Kill();
      self_ = self;
      Start();
      Share(epoch);
      if (AskAll().size() > kSharedNames / 4) return;
    }
    FAIL() << "nobody owns the names";
  }
  // What the other node asks for and hears.
  std::vector<GroupedView::Pair> AskAll(bool from_the_end = false) {
    std::vector<GroupedView::Pair> heard;
    const uint64_t binding = view_->grouped()->GroupState().binding;
    for (uint64_t i = 0; i < kSharedNames; ++i) {
      const uint64_t name = from_the_end ? kSharedNames - 1 - i : i;
      const auto sample = view_->BindForOthers(
          {.owner = "", .binding = binding, .names = {name}, .asker = ""});
      if (sample.ok()) heard.push_back({name, sample->front()});
    }
    return heard;
  }
  // The group shows this epoch, and the other node tells all that it heard.
  void Adopt(uint64_t epoch, std::vector<GroupedView::Pair> told) {
    GroupedView::State state;
    state.epoch = state.shown = epoch;
    GroupedView::Retained retained;
    retained.members = kSharers;
    retained.self = self_;
    retained.told = std::move(told);
    retained.told_all = true;
    view_->grouped()->AdoptEpoch(state, retained);
  }
  static std::map<uint64_t, uint64_t> MapOf(
      const std::vector<GroupedView::Pair>& pairs) {
    std::map<uint64_t, uint64_t> map;
    for (const GroupedView::Pair& pair : pairs) map[pair.name] = pair.sample;
    return map;
  }
  std::vector<std::string> Warnings() const {
    return view_->EpochStatus().warnings;
  }

  ViewFixture fixture_;
  MountConfig config_;
  std::unique_ptr<DeviceFinder> devices_;
  std::unique_ptr<DeviceAddressFinder> places_;
  SilentGroup group_;
  std::string self_ = kSharers[0];
  std::unique_ptr<ProducerFactory> factory_;
  std::unique_ptr<View> view_;
};

// [S-24.3d] Under brand a node that is gone costs readers no error, and status
// says how many samples may come twice.
TEST_F(RestartedSharingTest, WithoutALedgerItShowsWhatTheOthersTellIt) {
  for (const uint64_t epoch : {0u, 5u}) {
    SCOPED_TRACE(absl::StrCat("epoch ", epoch));
    StartAnOwner(epoch);
    std::vector<GroupedView::Pair> told = AskAll();
    ASSERT_GT(told.size(), kSharedNames / 4);
    told.resize(told.size() / 2);
    Kill();
    Start();
    Adopt(epoch, told);
    const auto now = MapOf(AskAll(/*from_the_end=*/true));
    for (const auto& [name, sample] : MapOf(told)) {
      ASSERT_TRUE(now.contains(name));
      EXPECT_EQ(now.at(name), sample) << "name " << name;
    }
    Kill();
  }
}

// The ledger does not have the epoch, so it counts all that it may have given.
TEST_F(RestartedSharingTest, WithoutALedgerItSaysWhatItMayHaveShown) {
  for (const uint64_t epoch : {0u, 5u}) {
    SCOPED_TRACE(absl::StrCat("epoch ", epoch));
    StartAnOwner(epoch);
    const size_t owned = AskAll().size();
    Kill();
    Start();
    Adopt(epoch, {});
    EXPECT_THAT(Warnings(), Contains(HasSubstr(absl::StrCat(
                                "up to ", owned, " samples may come twice"))));
    Kill();
  }
}

TEST_F(RestartedSharingTest, WithItsLedgerItKnowsAll) {
  testing_support::TempTree state;
  std::vector<GroupedView::Pair> told;
  {
    auto ledger = Ledger::Open(state.At("ledger"), {});
    ASSERT_TRUE(ledger.ok()) << ledger.status();
    Start(ledger->get());
    Share(5);
    told = AskAll();
    Kill();
  }
  auto ledger = Ledger::Open(state.At("ledger"), {});
  ASSERT_TRUE(ledger.ok()) << ledger.status();
  Start(ledger->get());
  Adopt(5, told);
  EXPECT_EQ(MapOf(AskAll()), MapOf(told));
  EXPECT_TRUE(Warnings().empty());
  Kill();
}

}  // namespace
}  // namespace shufflefs
