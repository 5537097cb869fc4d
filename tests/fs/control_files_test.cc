// SPDX-License-Identifier: Apache-2.0
#include "fs/control/control_files.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/engine/served_dataset.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mount-tools/config/config_file.h"
#include "mount-tools/config/control_text.h"
#include "nlohmann/json.hpp"
#include "tests/core/view/view_fixture.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::ViewFixture;

class ControlFilesTest : public ::testing::Test {
 protected:
  ControlFilesTest() : fixture_(3, 40) {
    std::vector<std::unique_ptr<View>> views;
    views.push_back(fixture_.MakeView(ViewFixture::Config("lirs")));
    served_ = std::make_unique<ServedDataset>(
        fixture_.catalogue,
        std::make_unique<PlainReads>(
            PlainReads::Parts{fixture_.source.get(), fixture_.catalogue, 8}),
        std::move(views), OpensSeen());
    ControlFiles::Parts parts;
    parts.config.views = {ViewFixture::Config("lirs")};
    parts.text.parse = [this](absl::string_view text,
                              const ViewConfig& current) {
      absl::StatusOr<ControlRequest> request = ParseControl(text, current);
      if (parsed_) parsed_(text);
      return request;
    };
    parts.text.render = TomlOfViews;
    parts.text.feedback_policies = "adapts";
    parts.metrics = &metrics_;
    parts.written = [this](const std::vector<ViewKeys>& keys) {
      told_.push_back(absl::StrCat(keys.at(0).running.policy, " ",
                                   keys.at(0).wanted.policy, " in ",
                                   view().setup()->policy->name()));
    };
    files_ = std::make_unique<ControlFiles>(std::move(parts));
    files_->SetServed(served_.get());
  }

  absl::Status Write(const std::string& text) {
    return files_->Write(ControlFile::kControl, 0, {text});
  }
  View& view() { return *served_->views()[0]; }

  ViewFixture fixture_;
  Metrics metrics_;
  std::unique_ptr<ServedDataset> served_;
  // Called by a write that has seen the keys it starts from.
  std::function<void(absl::string_view)> parsed_;
  // What was told of a write: running and wanted policy, and the one that ran.
  std::vector<std::string> told_;
  std::unique_ptr<ControlFiles> files_;
};

// Of two writers at once the second must not start from keys that the first
// is about to replace.
TEST_F(ControlFilesTest, NoWriteLosesWhatAnotherOneSet) {
  std::atomic<bool> other_done{false};
  std::thread other;
  parsed_ = [&](absl::string_view text) {
    if (text != "seed = 7") return;
    other = std::thread([&] {
      EXPECT_TRUE(Write("policy = \"window\"").ok());
      other_done = true;
    });
    // As long as a view takes to prepare: time for the other to overtake.
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
    while (!other_done && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
  };
  EXPECT_TRUE(Write("seed = 7").ok());
  other.join();
  EXPECT_EQ(view().config().seed, Seed(7));
  EXPECT_EQ(view().config().policy, "window");
}

// Killed in between, the next daemon finds an epoch of either.
TEST_F(ControlFilesTest, KeysAreToldBeforeTheyTakeEffectAndAfterwards) {
  ASSERT_TRUE(Write("policy = \"window\"").ok());
  EXPECT_THAT(told_,
              ElementsAre("lirs window in lirs", "window window in window"));
  told_.clear();
  EXPECT_FALSE(Write("policy = \"nonsense\"").ok());
  EXPECT_THAT(told_, ElementsAre("window window in window"));
  told_.clear();
  ASSERT_TRUE(Write("epoch = \"next\"").ok());
  EXPECT_THAT(told_, ElementsAre("window window in window"));
}

TEST_F(ControlFilesTest, FeedbackThatNobodyUsesNamesWhoWould) {
  EXPECT_EQ(Write("feedback = 0.5\n").message(),
            "feedback: no policy that runs here uses it; policy = \"adapts\" "
            "would");
}

TEST_F(ControlFilesTest, WhatIsTooLargeIsRefusedWhole) {
  std::string text = "seed = 7\n";
  text.append((size_t{64} << 10) - text.size(), '#');
  EXPECT_TRUE(Write(text).ok());
  EXPECT_EQ(view().config().seed, Seed(7));
  text[7] = '8';
  const absl::Status refused = Write(text + "#");
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(*files_->Render(ControlFile::kError, -1), HasSubstr("65536"));
  EXPECT_EQ(view().config().seed, Seed(7));
}

TEST_F(ControlFilesTest, NoMemoryWhilePreparingIsAStatus) {
  parsed_ = [](absl::string_view) {};
  View::Parts parts = fixture_.Parts(ViewFixture::Config("lirs"));
  parts.tools.resolver = [](const ViewConfig&,
                            const Dataset&) -> absl::StatusOr<ResolvedPolicy> {
    throw std::bad_alloc();
  };
  std::vector<std::unique_ptr<View>> views;
  views.push_back(std::make_unique<View>(std::move(parts)));
  const ServedDataset served(fixture_.catalogue,
                             std::make_unique<PlainReads>(PlainReads::Parts{
                                 fixture_.source.get(), fixture_.catalogue, 8}),
                             std::move(views), OpensSeen());
  files_->SetServed(&served);
  const absl::Status status = Write("policy = \"window\"");
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_EQ(served.views()[0]->config().policy, "lirs");
  EXPECT_TRUE(files_->Share(ControlFile::kStatus, -1).ok());
}

TEST_F(ControlFilesTest, AnOrderIsSharedWhileItIsTheSame) {
  const auto one = files_->Share(ControlFile::kOrder, 0);
  const auto two = files_->Share(ControlFile::kOrder, 0);
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(one->get(), two->get());
  EXPECT_EQ(**one, *files_->Render(ControlFile::kOrder, 0));
  ASSERT_TRUE(Write("epoch = \"next\"").ok());
  const auto next = files_->Share(ControlFile::kOrder, 0);
  EXPECT_NE(next->get(), one->get());
  EXPECT_NE(**next, **one);
  EXPECT_EQ(**next, *files_->Render(ControlFile::kOrder, 0));
}

// Commands take the name that status gives, before and after.
TEST_F(ControlFilesTest, AViewHasOneNameWhileItsFilesAreListedAndAfterwards) {
  ControlFiles::Parts parts;
  parts.config.views = {ViewFixture::Config("lirs"),
                        ViewFixture::Config("lirs")};
  parts.config.views[0].path = "train/a";
  parts.text.render = TomlOfViews;
  parts.metrics = &metrics_;
  const ControlFiles files(std::move(parts));
  const absl::StatusOr<std::string> text =
      files.Render(ControlFile::kStatus, -1);
  ASSERT_TRUE(text.ok()) << text.status();
  const auto status = nlohmann::json::parse(*text);
  ASSERT_EQ(status["views"].size(), 2u);
  EXPECT_EQ(status["views"][0]["name"], "train~a");
  EXPECT_EQ(status["views"][0]["path"], "train/a");
  EXPECT_EQ(status["views"][1]["name"], "root");
}

}  // namespace
}  // namespace shufflefs
