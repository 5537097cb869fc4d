// SPDX-License-Identifier: Apache-2.0
// What an epoch is not resumed over: other groups, or other places of files.
#include <set>
#include <string>
#include <vector>

#include "core/view/view.h"
#include "gmock/gmock.h"
#include "tests/core/view/view_fixture.h"

namespace shufflefs {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using testing_support::OpenName;
using testing_support::ViewFixture;

// A dataset whose groups a file names.
struct Folds {
  Folds() { Write(3); }

  // The first `first` files of c0 are in one group, all others in another.
  void Write(size_t first) {
    std::string text;
    for (size_t i = 0; i < 40; ++i) {
      const std::string stem =
          "c" + std::to_string(i / 20) + "/" +
          std::to_string((i % 20 * 7919 + i / 20 * 13) % 100003) + "_" +
          std::to_string(i % 20 % 3);
      text += stem + ".jpg\t" + (i < first ? "one" : "two") + "\n";
    }
    beside.File("folds.tsv", text);
    config.groups = beside.At("folds.tsv");
  }

  ViewFixture fixture{2, 20};
  testing_support::TempTree beside;
  ViewConfig config = ViewFixture::Config("lirs");
};

TEST(DatasetChangesTest, AnEpochOfOtherGroupsIsNotResumed) {
  Folds folds;
  std::set<EntryId> opened;
  for (const size_t first : {3, 3, 7}) {
    folds.Write(first);
    auto ledger = Ledger::Open(folds.beside.At("ledger"), {});
    ASSERT_TRUE(ledger.ok()) << ledger.status();
    const auto view = folds.fixture.MakeView(folds.config, ledger->get());
    const Grouping& grouping = view->setup()->dataset->grouping();
    EXPECT_EQ(*view->EpochStatus().consumed, first == 7 ? 0u : opened.size())
        << first;
    milliseconds now(1);
    for (const EntryId name : folds.fixture.Files()) {
      const EntryId shown = OpenName(*view, name, now);
      EXPECT_EQ(grouping.place(name)->group, grouping.place(shown)->group);
      opened.insert(name);
    }
  }
}

TEST(DatasetChangesTest, AnEpochThatDoesNotGoOnIsSpokenOf) {
  Folds folds;
  for (const size_t first : {3, 3, 7}) {
    folds.Write(first);
    auto ledger = Ledger::Open(folds.beside.At("ledger"), {});
    ASSERT_TRUE(ledger.ok()) << ledger.status();
    const auto view = folds.fixture.MakeView(folds.config, ledger->get());
    const std::vector<std::string> warnings = view->EpochStatus().warnings;
    EXPECT_EQ(warnings.size(), first == 7 ? 1u : 0u);
    if (first == 7) {
      EXPECT_THAT(warnings[0],
                  HasSubstr("cannot resume epoch 0 (2 of 40 samples were "
                            "read): the settings changed; starting again "
                            "with epoch 0"));
    }
    milliseconds now(1);
    for (const size_t name : {0, 1}) {
      OpenName(*view, folds.fixture.Files()[name], now);
    }
  }
}

TEST(DatasetChangesTest, GroupsThatChangedWhileMountedAreRefused) {
  Folds folds;
  const auto view = folds.fixture.MakeView(folds.config);
  folds.Write(7);
  ControlRequest request;
  request.config = folds.config;
  request.config.policy = "window";
  request.config_changed = true;
  EXPECT_TRUE(view->Prepare(request).ok()) << "it needs no dataset";
  request.config.policy = "lirs";
  request.config.policy_options.Set("lirs.unit", "page");
  const absl::Status refused = view->Prepare(request).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("unmount"));
}

// Orders by blocks depend on where files lie.
TEST(DatasetChangesTest, AnEpochOfOtherPlacesIsNotResumed) {
  ViewFixture fixture(2, 20);
  testing_support::TempTree state;
  ViewConfig config = ViewFixture::Config("lirs");
  config.policy_options.Set("lirs.unit", "page");
  uint64_t step = 4096;
  const auto consumed = [&] {
    auto ledger = Ledger::Open(state.At("ledger"), {});
    EXPECT_TRUE(ledger.ok()) << ledger.status();
    View::Parts parts = fixture.Parts(config);
    parts.tools.addresses = [step](const Dataset& dataset) {
      DeviceLayout layout;
      layout.addresses.resize(dataset.grouping().sample_count());
      for (size_t i = 0; i < layout.addresses.size(); ++i) {
        layout.addresses[i] = i * step;
      }
      return layout;
    };
    auto setup = MakeViewSetup(config, fixture.catalogue, parts.tools, nullptr);
    EXPECT_TRUE(setup.ok()) << setup.status();
    parts.setup = *std::move(setup);
    parts.ledger = ledger->get();
    View view(std::move(parts));
    const uint64_t before = *view.EpochStatus().consumed;
    OpenName(view, fixture.Files()[before], milliseconds(1));
    return before;
  };
  EXPECT_EQ(consumed(), 0u);
  EXPECT_EQ(consumed(), 1u);
  step = 100;
  EXPECT_EQ(consumed(), 0u);
  config.policy_options = {};  // no blocks: places do not matter
  EXPECT_EQ(consumed(), 0u);
  step = 4096;
  EXPECT_EQ(consumed(), 1u);
}

}  // namespace
}  // namespace shufflefs
