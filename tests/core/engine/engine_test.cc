// SPDX-License-Identifier: Apache-2.0
// An engine by itself: what it serves, what it keeps for the next one, and
// whom it tells.
#include "core/engine/engine.h"

#include <future>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/catalogue/catalogue_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policies/native.h"
#include "policies/registry.h"
#include "tests/mount-tools/temp_dir.h"

namespace shufflefs {
namespace {

using ::testing::HasSubstr;

class EngineTest : public ::testing::Test {
 protected:
  EngineTest() {
    for (const char* label : {"cat", "dog"}) {
      for (int i = 0; i < 12; ++i) {
        tree_.Write(absl::StrCat("train/", label, "/", i * i, ".jpg"),
                    absl::StrCat(label, i));
      }
    }
    tree_.Write("val/cat/1.jpg", "v");
    tree_.Write("val/dog/1.jpg", "v");
    config_.source = tree_.path();
    config_.views.emplace_back().policy = "lirs";
    config_.views[0].substitute = Substitute::kDirectory;
  }

  StateDir State() const { return *StateDir::Open(state_.path() + "/state"); }
  absl::StatusOr<std::unique_ptr<Engine>> Make(const StateDir* state) const {
    return Engine::Make({.config = config_,
                         .source = *SourceDir::At(tree_.path()),
                         .policies = AllPolicies(),
                         .state = state,
                         .running = {},
                         .hooks = {}});
  }
  static EntryId Name(const ServedDataset& served, const std::string& path) {
    return *served.catalogue().FindPath(path);
  }

  const TempDir tree_;
  const TempDir state_;
  MountConfig config_;
};

TEST_F(EngineTest, ServesWithoutState) {
  const auto engine = Make(nullptr);
  ASSERT_TRUE(engine.ok()) << engine.status();
  EXPECT_EQ((*engine)->served(), nullptr);
  EXPECT_FALSE((*engine)->goes_on());
  const auto served = (*engine)->Load({});
  ASSERT_TRUE(served.ok()) << served.status();
  EXPECT_EQ((*engine)->served(), *served);
  ASSERT_EQ((*served)->views().size(), 1u);
  View& view = *(*served)->views()[0];
  EXPECT_EQ(view.setup()->policy->name(), "lirs");
  const EntryId file = view.Lookup(Name(**served, "train/cat/4.jpg")).shown;
  std::promise<std::string> read;
  (*served)->plain().Read(
      file, 0, 100, [&](absl::StatusOr<absl::Span<const iovec>> pieces) {
        std::string bytes;
        for (const iovec& piece : *pieces) {
          bytes.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
        }
        read.set_value(bytes);
      });
  const std::string bytes = read.get_future().get();
  EXPECT_THAT(bytes, HasSubstr("cat"));  // of its group, by the label
  EXPECT_EQ(bytes.size(), (*served)->catalogue().file_size(file));
  (*engine)->Stop();
  (*engine)->Stop();  // and again, when it goes
}

// The reader of the source is gone by then.
TEST_F(EngineTest, WhoReadsAfterTheEndIsToldSo) {
  const auto engine = Make(nullptr);
  ASSERT_TRUE(engine.ok()) << engine.status();
  const auto served = (*engine)->Load({});
  ASSERT_TRUE(served.ok()) << served.status();
  const EntryId file = Name(**served, "train/cat/4.jpg");
  const auto read = [&] {
    std::promise<absl::Status> ended;
    (*served)->plain().Read(
        file, 0, 100, [&](const absl::StatusOr<absl::Span<const iovec>>& got) {
          ended.set_value(got.status());
        });
    return ended.get_future().get();
  };
  EXPECT_EQ(read(), absl::OkStatus());
  (*engine)->Stop();
  EXPECT_TRUE(absl::IsCancelled(read()));
}

TEST_F(EngineTest, TheNextOneGoesOnWithTheEpoch) {
  Epoch left{0};
  {
    const StateDir state = State();
    const auto engine = Make(&state);
    ASSERT_TRUE(engine.ok()) << engine.status();
    const auto served = (*engine)->Load({});
    ASSERT_TRUE(served.ok()) << served.status();
    View& view = *(*served)->views()[0];
    ControlRequest next;
    next.config = view.config();
    next.next_epoch = true;
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(view.Install(*view.Prepare(next)), absl::OkStatus());
    }
    left = view.EpochStatus().epoch;
    EXPECT_EQ(left, Epoch(3));
  }
  const StateDir state = State();
  EXPECT_TRUE(LoadCatalogue(state.catalogue()).ok());
  const auto engine = Make(&state);
  ASSERT_TRUE(engine.ok()) << engine.status();
  EXPECT_TRUE((*engine)->goes_on());
  const auto served = (*engine)->Load({});
  ASSERT_TRUE(served.ok()) << served.status();
  EXPECT_EQ((*served)->views()[0]->EpochStatus().epoch, left);
  EXPECT_EQ((*engine)->FindChangedRights({}), absl::nullopt);
}

TEST_F(EngineTest, TellsWhoShowsNamesThatTheyAreBoundAnew) {
  int rebound = 0;
  auto made = Engine::Make({.config = config_,
                            .source = *SourceDir::At(tree_.path()),
                            .policies = AllPolicies(),
                            .running = {},
                            .hooks = {.on_rebind = [&](bool) { ++rebound; },
                                      .on_committed = {},
                                      .on_doubted = {}}});
  ASSERT_TRUE(made.ok()) << made.status();
  const auto served = (*made)->Load({});
  ASSERT_TRUE(served.ok()) << served.status();
  EXPECT_EQ(rebound, 0);
  View& view = *(*served)->views()[0];
  ControlRequest next;
  next.config = view.config();
  next.next_epoch = true;
  EXPECT_EQ(view.Install(*view.Prepare(next)), absl::OkStatus());
  EXPECT_EQ(rebound, 1);
}

TEST_F(EngineTest, WhatWasReadBeforeWaitsForTheBoundary) {
  const auto engine = Make(nullptr);
  ASSERT_TRUE(engine.ok()) << engine.status();
  int asked = 0;
  Engine::LoadOptions options;
  options.read_before = [&] {
    ++asked;
    return FilesRead{ReadBefore::kSomething, {}, true};
  };
  const auto served = (*engine)->Load(options);
  ASSERT_TRUE(served.ok()) << served.status();
  EXPECT_EQ(asked, 1);
  View& view = *(*served)->views()[0];
  EXPECT_EQ(view.EpochStatus().state, "waiting");
  const EntryId name = Name(**served, "train/cat/4.jpg");
  EXPECT_EQ(view.Lookup(name).shown, name);
}

TEST_F(EngineTest, KnowsThePoliciesThatItIsGiven) {
  config_.views[0].policy = "auto";
  uint64_t files = 0;
  PolicyEntry own;
  own.name = "own";
  own.make = [](const PolicyOptions&,
                const StagedView*) -> std::unique_ptr<const Policy> {
    return std::make_unique<NativePolicy>();
  };
  const PolicyEntry* const table[] = {&own};
  const PolicySet policies{table, [&](const DatasetFacts& facts) {
                             files = facts.files;
                             return AutoChoice{"own", "there is no other"};
                           }};
  const auto make = [&] {
    return Engine::Make({.config = config_,
                         .source = *SourceDir::At(tree_.path()),
                         .policies = policies,
                         .running = {},
                         .hooks = {}});
  };
  const auto engine = make();
  ASSERT_TRUE(engine.ok()) << engine.status();
  const auto served = (*engine)->Load({});
  ASSERT_TRUE(served.ok()) << served.status();
  EXPECT_EQ(files, 26u);
  EXPECT_EQ((*served)->views()[0]->setup()->why, "there is no other");

  config_.views[0].policy = "lirs";
  const auto other = make();
  ASSERT_TRUE(other.ok()) << other.status();
  const absl::Status refused = (*other)->Load({}).status();
  EXPECT_THAT(std::string(refused.message()), ::testing::Not(HasSubstr("view")))
      << "there is only one";
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("there is no \"lirs\""));
  EXPECT_EQ((*other)->served(), nullptr);
}

}  // namespace
}  // namespace shufflefs
