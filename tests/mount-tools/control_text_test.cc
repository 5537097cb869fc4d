// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/config/control_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "mount-tools/config/config_file.h"
#include "policies/lirs.h"
#include "policies/met/met_options.h"

namespace shufflefs {
namespace {

ControlRequest ParsedControl(absl::string_view text,
                             const ViewConfig& current = ViewConfig()) {
  absl::StatusOr<ControlRequest> request = ParseControl(text, current);
  EXPECT_TRUE(request.ok()) << request.status();
  return request.ok() ? *request : ControlRequest();
}

std::string ControlError(absl::string_view text,
                         const ViewConfig& current = ViewConfig()) {
  absl::StatusOr<ControlRequest> request = ParseControl(text, current);
  if (request.ok()) return "no error";
  EXPECT_EQ(request.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(request.status().message());
}

TEST(ControlText, MovesTheEpoch) {
  const ControlRequest next = ParsedControl("epoch = \"next\"\n");
  EXPECT_TRUE(next.next_epoch);
  EXPECT_FALSE(next.set_epoch.has_value());
  EXPECT_FALSE(next.config_changed);
  const ControlRequest set = ParsedControl("epoch = 7");
  EXPECT_FALSE(set.next_epoch);
  EXPECT_EQ(set.set_epoch, Epoch(7));
  EXPECT_FALSE(set.config_changed);
}

// They are what other nodes of a job are told.
TEST(ControlText, SettingsAreTheKeysOfTheViewThatWereGiven) {
  ViewConfig current;
  current.seed = Seed(7);
  const ControlRequest request = ParsedControl(
      "# twice\nseed = 7\npolicy='lirs'\nepoch = \"next\"\n", current);
  EXPECT_EQ(request.settings, "seed = 7\npolicy = \"lirs\"\n");
  const ControlRequest told = ParsedControl(request.settings);
  EXPECT_EQ(told.config.seed, request.config.seed);
  EXPECT_EQ(told.config.policy, "lirs");
  EXPECT_FALSE(told.next_epoch);
  EXPECT_EQ(ParsedControl("epoch = 3").settings, "");
}

TEST(ControlText, TakesALoss) {
  const ControlRequest request = ParsedControl("feedback = 0.531\n");
  ASSERT_TRUE(request.feedback.has_value());
  EXPECT_EQ(*request.feedback, 0.531);
  EXPECT_FALSE(request.config_changed);
  EXPECT_FALSE(ParsedControl("seed = 3").feedback.has_value());
  EXPECT_EQ(*ParsedControl("feedback = 3").feedback, 3);
  EXPECT_EQ(*ParsedControl("feedback = -1.25e-7").feedback, -1.25e-7);
  EXPECT_EQ(*ParsedControl("feedback = 0.12345678901234567").feedback,
            0.12345678901234567);
  const ControlRequest both =
      ParsedControl("epoch = \"next\"\nfeedback = 0.5\nmet.patience = 3\n");
  EXPECT_TRUE(both.next_epoch);
  EXPECT_EQ(*both.feedback, 0.5);
  EXPECT_EQ(MetOptions::Of(both.config.policy_options).patience, 3u);
}

// [S-7.1c] A loss is told by feedback = x in the control file, and everything
// but a finite number is refused.
TEST(ControlText, ALossIsAFiniteNumber) {
  for (const std::string value : {"nan", "-nan", "inf", "+inf", "-inf", "true",
                                  "\"0.5\"", "\"low\"", "\"\""}) {
    EXPECT_THAT(ControlError("seed = 1\nfeedback = " + value),
                ::testing::MatchesRegex(
                    "line 2: feedback = .*: must be a finite number, such as "
                    "0.531"))
        << value;
  }
  // Where the value is no TOML, or no single one, the line is told.
  for (const std::string value :
       {".5", "0x", "1e999999999x", "", "[0.5]", "2026-01-01"}) {
    EXPECT_THAT(ControlError("feedback = " + value),
                ::testing::StartsWith("line 1: column "))
        << value;
  }
  EXPECT_EQ(ControlError("feedback = 1\nfeedback = 2"),
            "line 2: feedback: is given twice");
}

TEST(ControlText, EditsTheConfiguration) {
  ViewConfig current;
  current.path = "train";
  current.layout = Layout::kRanked;
  const ControlRequest request = ParsedControl(
      "# a comment\n\n  policy = \"lirs\"   # why not\r\n"
      "lirs.unit = \"page\"\nlirs.page = \"64KiB\"\nseed = 3\n"
      "epoch = \"next\"\nepoch.advance = \"manual\"\n",
      current);
  EXPECT_EQ(request.config.policy, "lirs");
  EXPECT_EQ(LirsOptions::Of(request.config.policy_options).unit,
            LirsOptions::Unit::kPage);
  EXPECT_EQ(LirsOptions::Of(request.config.policy_options).page, 65536u);
  EXPECT_EQ(request.config.seed, Seed(3));
  EXPECT_EQ(request.config.epoch_advance, Advance::kManual);
  EXPECT_EQ(request.config.path, "train");
  EXPECT_EQ(request.config.layout, Layout::kRanked);
  EXPECT_TRUE(request.config_changed);
  EXPECT_TRUE(request.next_epoch);
}

TEST(ControlText, TheSameValueIsNoChange) {
  ViewConfig current;
  current.seed = Seed(3);
  EXPECT_FALSE(ParsedControl("seed = 3", current).config_changed);
  EXPECT_TRUE(ParsedControl("seed = 4", current).config_changed);
  EXPECT_FALSE(ParsedControl("lirs.page = 4096", current).config_changed);
}

// An editor writes back all that `control` shows, with one line changed.
TEST(ControlText, TakesWhatTheControlFileShows) {
  MountConfig mount;
  mount.state = "/var/lib/x";
  ViewConfig view;
  view.path = "train";
  view.layout = Layout::kRanked;
  view.epoch_start = Epoch(4);
  const std::string text = EffectiveToml(mount, view);
  absl::StatusOr<ControlRequest> same = ParseControl(text, view, &mount);
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_FALSE(same->config_changed);
  EXPECT_EQ(same->config.path, "train");
  EXPECT_EQ(same->config.epoch_start, Epoch(4));
}

TEST(ControlText, TheLogLevelIsOneOfTheMount) {
  const MountConfig mount;
  ControlledMount controlled;
  const auto request = ParseControl("log.level = \"debug\"\nseed = 3\n",
                                    ViewConfig(), &mount, &controlled);
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(controlled.log_level, LogLevel::kDebug);
  EXPECT_EQ(request->config.seed, Seed(3));
  // Also if it is that of the command line: another one may be in use.
  ASSERT_TRUE(
      ParseControl("log.level = \"info\"", ViewConfig(), &mount, &controlled)
          .ok());
  EXPECT_EQ(controlled.log_level, LogLevel::kInfo);
  ASSERT_TRUE(ParseControl("seed = 3", ViewConfig(), &mount, &controlled).ok());
  EXPECT_FALSE(controlled.log_level);
  EXPECT_FALSE(ParseControl("log.level = \"loud\"", ViewConfig(), &mount).ok());
}

TEST(ControlText, RefusesWhatCannotChange) {
  EXPECT_EQ(ControlError("layout = \"ranked\""),
            "line 1: layout: cannot change while mounted; unmount, then mount "
            "with -o layout=ranked");
  EXPECT_EQ(ControlError("wait = \"5s\""),
            "line 1: wait: cannot change while mounted; unmount, then mount "
            "with -o wait=5s");
  const MountConfig mount;
  EXPECT_TRUE(ParseControl("wait = \"5s\"", ViewConfig(), &mount).ok());
  EXPECT_EQ(
      ParseControl("wait = \"6s\"", ViewConfig(), &mount).status().message(),
      "line 1: wait: cannot change while mounted; unmount, then mount "
      "with -o wait=6s");
  EXPECT_EQ(ControlError("path = \"val\""),
            "line 1: path: cannot change while mounted; unmount, then mount "
            "with -o path=val");
}

TEST(ControlText, ErrorsNameLineAndKey) {
  EXPECT_EQ(ControlError("seed = 1\npolcy = \"lirs\"\n"),
            "line 2: no such key: polcy; did you mean policy?");
  EXPECT_EQ(
      ControlError("policy = \"mte\"\n"),
      "line 1: policy = mte: must be auto, native, lirs, brand, met, reimu, "
      "clairvoyant, window or static; did you mean met?");
  EXPECT_EQ(ControlError("seed = 1\n\nseed = 2\n"),
            "line 3: seed: is given twice");
  EXPECT_EQ(ControlError("epoch = 1\nepoch = \"next\"\n"),
            "line 2: epoch: is given twice");
  EXPECT_EQ(ControlError("epoch = \"last\""),
            "line 1: epoch = last: must be \"next\" or a whole number from 0 "
            "to 9223372036854775807");
  EXPECT_EQ(ControlError("epoch = -1"),
            "line 1: epoch = -1: must be \"next\" or a whole number from 0 to "
            "9223372036854775807");
  EXPECT_EQ(ControlError("[lirs]\nunit = \"page\"\n"),
            "line 1: must be one key = value, with dots in the key instead of "
            "a table");
  EXPECT_EQ(ControlError("[[view]]\n"),
            "line 1: must be one key = value, with dots in the key instead of "
            "a table");
  EXPECT_EQ(ControlError("# only a comment\n"),
            "nothing to do: write key = value, such as epoch = \"next\"");
  EXPECT_EQ(ControlError(""),
            "nothing to do: write key = value, such as epoch = \"next\"");
}

TEST(ControlText, AWordWithoutQuotesGetsAHint) {
  const std::string error = ControlError("seed = 1\nepoch = next\n");
  EXPECT_THAT(error, ::testing::StartsWith("line 2: column "));
  EXPECT_THAT(error, ::testing::HasSubstr("words stand in quotes"));
  EXPECT_THAT(error, ::testing::Not(::testing::HasSubstr("\n")));
}

// Each part would be a table in a table, and 20,000 of them overflowed the
// stack.
TEST(ControlText, AKeyOfVeryManyPartsIsRefused) {
  std::string deep = "a";
  for (int i = 0; i < 20'000; ++i) deep += ".a";
  for (const std::string& text :
       {deep + " = 1", "seed = 1\n" + deep + " = 1", "[" + deep + "]\na = 1",
        "x = {" + deep + " = 1}", "\"" + deep + "\" = 1"}) {
    EXPECT_THAT(ControlError(text), ::testing::HasSubstr("dots"))
        << text.substr(0, 20);
  }
  EXPECT_THAT(ControlError(deep.substr(0, 1999) + " = 1"),
              ::testing::HasSubstr("a.a.a.a"));
}

TEST(ControlText, AllOrNothing) {
  ViewConfig current;
  current.groups = "/folds";
  current.substitute = Substitute::kDirectory;
  EXPECT_EQ(ControlError("seed = 5\nlirs.page = 1\n", current),
            "line 2: lirs.page = 1: must be a power of two from 4KiB to "
            "16MiB; a number without a unit counts bytes");
  EXPECT_EQ(current.seed, Seed(0));
}

}  // namespace
}  // namespace shufflefs
