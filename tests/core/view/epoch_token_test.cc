// SPDX-License-Identifier: Apache-2.0
// The line of a token, there and back, and what is no such line.
#include "core/view/epoch_token.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "core/binding/binding.h"
#include "gmock/gmock.h"
#include "tests/core/view/view_fixture.h"

namespace shufflefs {
namespace {

using testing::HasSubstr;

EpochToken PlannedToken() {
  EpochToken token;
  token.fingerprint = 0x0123456789abcdef;
  token.policy = "lirs";
  token.keys = 77;
  token.seed = Seed(5);
  token.epoch = Epoch(4);
  token.binding = Epoch(3);
  token.position = 3;
  token.kept = {{1, 9}, {9, 1}};
  token.read = {0, 8, 1000};
  return token;
}

EpochToken ReactiveToken() {
  EpochToken token = PlannedToken();
  token.policy = "met";
  token.kept.clear();
  token.read.clear();
  token.pairs.emplace();
  token.pairs->bound = {{2, 3}};
  token.pairs->shown = {{5, 5}, {0, 70000}};
  token.pairs->times = std::string("\0\1 x", 4);
  ShownPairs shown;
  shown.sum = TimesDigest(token.pairs->times);
  for (const NameBinding& pair : token.pairs->shown) shown.Add(pair);
  token.position = shown.count;
  token.digest = shown.sum;
  return token;
}

EpochToken ParsedToken(const std::string& text) {
  const absl::StatusOr<EpochToken> token = ParseToken(text);
  EXPECT_TRUE(token.ok()) << token.status();
  return token.ok() ? *token : EpochToken();
}

TEST(EpochTokenTest, IsOneLineWithTheSixFieldsFirst) {
  const std::string text = TokenText(PlannedToken());
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  EXPECT_TRUE(absl::StartsWith(
      text, "0123456789abcdef lirs 000000000000004d 5 4 3 held=3 kept="))
      << text;
}

TEST(EpochTokenTest, ComesBackAsItWas) {
  const EpochToken planned = ParsedToken(TokenText(PlannedToken()));
  EXPECT_EQ(planned.fingerprint, PlannedToken().fingerprint);
  EXPECT_EQ(planned.policy, "lirs");
  EXPECT_EQ(planned.keys, 77u);
  EXPECT_EQ(planned.seed, Seed(5));
  EXPECT_EQ(planned.epoch, Epoch(4));
  EXPECT_EQ(planned.binding, Epoch(3));
  EXPECT_EQ(planned.position, 3u);
  EXPECT_FALSE(planned.identity);
  EXPECT_FALSE(planned.passed);
  EXPECT_EQ(planned.kept, PlannedToken().kept);
  EXPECT_EQ(planned.read, PlannedToken().read);
  EXPECT_FALSE(planned.reactive());
  EXPECT_FALSE(planned.whole.has_value());
  EXPECT_EQ(planned.by_hand, 0u);
  const EpochToken reactive = ParsedToken(TokenText(ReactiveToken()));
  EXPECT_EQ(reactive.digest, ReactiveToken().digest);
  ASSERT_TRUE(reactive.pairs.has_value());
  EXPECT_EQ(reactive.pairs->bound, ReactiveToken().pairs->bound);
  EXPECT_EQ(reactive.pairs->shown, ReactiveToken().pairs->shown);
  EXPECT_EQ(reactive.pairs->times, ReactiveToken().pairs->times);
}

TEST(EpochTokenTest, TellsOfContainers) {
  EpochToken token = PlannedToken();
  token.by_hand = 0x80000001;
  for (const std::vector<uint64_t>& places :
       {std::vector<uint64_t>{}, std::vector<uint64_t>{0, 9, 4000}}) {
    token.whole = EpochToken::Whole{77, places};
    const EpochToken back = ParsedToken(TokenText(token));
    ASSERT_TRUE(back.whole.has_value());
    EXPECT_EQ(back.whole->paths, 77u);
    EXPECT_EQ(back.whole->places, places);
    EXPECT_EQ(back.by_hand, 0x80000001);
  }
}

TEST(EpochTokenTest, TellsAnUncountedPositionAndNamesOfTheirOwn) {
  EpochToken token;
  token.policy = "native";
  token.identity = true;
  token.passed = true;
  const EpochToken back = ParsedToken(TokenText(token));
  EXPECT_FALSE(back.position.has_value());
  EXPECT_TRUE(back.identity);
  EXPECT_TRUE(back.passed);
  EXPECT_EQ(back.binding, back.epoch);
}

TEST(EpochTokenTest, AnyChangeOfACharacterIsRefused) {
  for (const EpochToken& token : {PlannedToken(), ReactiveToken()}) {
    const std::string text = TokenText(token);
    for (size_t at = 0; at + 1 < text.size(); ++at) {
      std::string other = text;
      other[at] = other[at] == '1' ? '2' : '1';
      EXPECT_FALSE(ParseToken(other).ok()) << at;
      EXPECT_FALSE(ParseToken(text.substr(0, at)).ok()) << at;
    }
  }
}

// A ledger that waits for space has fewer pairs than were read.
TEST(EpochTokenTest, PairsThatLackSomeOfWhatWasReadAreRefused) {
  const auto refused = [](const EpochToken& token) {
    const absl::Status status = ParseToken(TokenText(token)).status();
    EXPECT_TRUE(status.ok() ||
                absl::StrContains(status.message(), "lacks a part"))
        << status;
    return !status.ok();
  };
  EpochToken token = ReactiveToken();
  EXPECT_FALSE(refused(token));
  token.pairs->shown.pop_back();
  EXPECT_TRUE(refused(token));
  token.position = 1;  // the digest is that of two
  EXPECT_TRUE(refused(token));
  token = ReactiveToken();
  token.pairs->times.clear();
  EXPECT_TRUE(refused(token));
  token = ReactiveToken();
  token.pairs->shown[1].sample = 70001;
  EXPECT_TRUE(refused(token));
  token.pairs.reset();  // they are in the mount's state
  EXPECT_FALSE(refused(token));
}

TEST(EpochTokenTest, ALineOfTheFormerVersionIsNamedSo) {
  const auto token = ParseToken("0123456789abcdef lirs 0 1 900\n");
  EXPECT_EQ(token.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(token.status().message()), HasSubstr("version"));
}

// Its check is right: it stands in the place of the policy's name.
TEST(EpochTokenTest, AFieldOfALaterVersionIsNamed) {
  EpochToken token = PlannedToken();
  token.policy = "lirs 0000000000000001 5 4 3 later=1";
  const auto parsed = ParseToken(TokenText(token));
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(parsed.status().message()), HasSubstr("later"));
}

LedgerState StateWithPairs() {
  LedgerState state;
  state.begin.policy = "brand";
  state.begin.names = 10;
  state.begin.reactive = true;
  state.bound = {{9, 9}, {1, 2}, {2, 1}, {3, 4}};
  state.bound_consumed = 3;
  for (const uint64_t sample : {2, 1, 4}) state.consumed.Add(sample);
  state.consumed.Settle();
  return state;
}

TEST(EpochTokenTest, OfALedgerItTellsTheFirstPairsAsRead) {
  const EpochToken all = TokenOf(StateWithPairs(), 1, absl::nullopt);
  EXPECT_EQ(all.position, 3u);
  EXPECT_EQ(all.pairs->shown.size(), 3u);
  const EpochToken two = TokenOf(StateWithPairs(), 1, 2);
  EXPECT_EQ(two.position, 2u);
  EXPECT_EQ(two.pairs->bound, (std::vector<NameBinding>{{9, 9}, {3, 4}}));
  EXPECT_EQ(two.pairs->shown, (std::vector<NameBinding>{{1, 2}, {2, 1}}));
  ShownPairs shown;
  for (const NameBinding& pair : two.pairs->shown) shown.Add(pair);
  EXPECT_EQ(two.digest, shown.sum);
  EXPECT_NE(two.digest, all.digest);
}

// A token of another dataset, or a forged one with the right check.
class TokenStateTest : public ::testing::Test {
 protected:
  TokenStateTest()
      : fixture_(2, 4), setup_(fixture_.Setup(fixture_.Config("lirs"))) {}

  bool Fits(const EpochToken& token) const {
    return StateOf(token, *setup_).ok();
  }
  // The names of a view of two classes of four files.
  uint64_t Name(uint32_t group, uint64_t n) const {
    const Grouping& grouping = setup_->dataset->grouping();
    uint64_t name = 0;
    for (;; ++name) {
      if (grouping.group_of(SampleId(name)) != GroupId(group)) continue;
      if (n-- == 0) return name;
    }
  }

  testing_support::ViewFixture fixture_;
  std::shared_ptr<const ViewSetup> setup_;
};

TEST_F(TokenStateTest, SamplesAndPositionsBeyondTheViewAreRefused) {
  EpochToken token;
  token.read = {0, 7};
  token.position = 8;
  EXPECT_TRUE(Fits(token));
  token.position = 9;
  EXPECT_FALSE(Fits(token));
  token.position = 8;
  token.read = {0, 8};
  EXPECT_FALSE(Fits(token));
}

TEST_F(TokenStateTest, PairsOfNoViewOrOfTwoClassesAreRefused) {
  const auto fits = [&](const NameBinding& pair) {
    EpochToken kept, bound, shown;
    kept.kept = {pair};
    bound.pairs.emplace().bound = {pair};
    shown.pairs.emplace().shown = {pair};
    bound.position = 0;
    shown.position = 1;
    EXPECT_EQ(Fits(kept), Fits(bound));
    EXPECT_EQ(Fits(kept), Fits(shown));
    return Fits(kept);
  };
  EXPECT_TRUE(fits({Name(0, 0), Name(0, 3)}));
  EXPECT_TRUE(fits({Name(1, 3), Name(1, 0)}));
  EXPECT_FALSE(fits({Name(0, 0), Name(1, 0)}));
  EXPECT_FALSE(fits({Name(1, 0), Name(0, 0)}));
  EXPECT_FALSE(fits({Name(1, 0), 8}));
  EXPECT_FALSE(fits({8, Name(1, 0)}));
}

// Names of a reactive view, which knows no others.
class FewNames : public BoundNames {
 public:
  explicit FewNames(uint64_t count) : count_(count) {}
  SampleId Bind(SampleId name) override { return Known(name); }
  absl::optional<SampleId> Bound(SampleId name) const override {
    return Known(name);
  }
  absl::optional<SampleId> NameOf(SampleId sample) const override {
    return Known(sample);
  }
  bool repeats() const override { return false; }
  uint32_t OrdinalOf(SampleId) const override { return 0; }
  absl::optional<SampleId> NameAt(SampleId, uint32_t) const override {
    return absl::nullopt;
  }
  void Opened(SampleId) override {}
  std::string Served() const override { return ""; }

 private:
  SampleId Known(SampleId name) const {
    EXPECT_LT(name.value(), count_);
    return name;
  }
  const uint64_t count_;
};

TEST_F(TokenStateTest, NoTableIsAskedForNamesThatItDoesNotHave) {
  const auto names = std::make_shared<FewNames>(8);
  const Binding binding(std::make_shared<Plan>(setup_->dataset, setup_->policy,
                                               Seed(1), Epoch(4)),
                        RetainedBindings(), names);
  EpochToken token = ReactiveToken();
  token.policy = std::string(setup_->policy->name());
  token.keys = TokenKeys(*setup_);
  token.seed = setup_->config.seed;
  token.binding = token.epoch = Epoch(4);
  token.pairs = EpochToken::Pairs{{}, {{1, 1}}, ""};
  EXPECT_TRUE(BindsAs(token, *setup_, binding, nullptr));
  token.pairs->shown = {{1, 1}, {0x7fff0000, 0}};
  EXPECT_FALSE(BindsAs(token, *setup_, binding, nullptr));
  token.pairs->shown = {{uint64_t{1} << 32 | 1, 1}};
  EXPECT_FALSE(BindsAs(token, *setup_, binding, nullptr));
}

// They would take memory before a view could look at them.
TEST(EpochTokenTest, MoreNamesThanTheViewHasAreRefused) {
  EpochToken planned = PlannedToken();
  EXPECT_TRUE(ParseToken(TokenText(planned), 1001).ok());
  planned.read = {0, 100000};
  EXPECT_FALSE(ParseToken(TokenText(planned), 1001).ok());
  planned = PlannedToken();
  planned.whole = EpochToken::Whole{7, {100000}};
  EXPECT_FALSE(ParseToken(TokenText(planned), 1001).ok());
  planned.whole = absl::nullopt;
  planned.read.clear();
  planned.kept = {{1, 9}, {9, 1}, {3, 4}, {4, 3}};
  EXPECT_TRUE(ParseToken(TokenText(planned), 4).ok());
  EXPECT_THAT(std::string(ParseToken(TokenText(planned), 3).status().message()),
              HasSubstr("names that this view does not have"));
  const std::string spaces(1000, ' ');
  EXPECT_FALSE(ParseToken(spaces + "x" + spaces + "y" + spaces + "z").ok());
}

TEST_F(TokenStateTest, ContainersOfNoViewAreRefused) {
  EpochToken token;
  token.whole = EpochToken::Whole{};
  EXPECT_TRUE(Fits(token));  // of a view without containers
  token.whole->places = {0};
  EXPECT_FALSE(Fits(token));
  token.whole = EpochToken::Whole{77, {}};
  EXPECT_FALSE(Fits(token));
}

TEST_F(TokenStateTest, WhatWasReadIsNotReadAgain) {
  EpochToken token;
  token.pairs.emplace().bound = {{2, 2}};
  token.pairs->shown = {{1, 1}, {0, 0}};
  token.position = 2;
  const absl::StatusOr<LedgerState> state = StateOf(token, *setup_);
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->bound, (std::vector<NameBinding>{{2, 2}, {1, 1}, {0, 0}}));
  EXPECT_EQ(state->bound_consumed, 2u);
  EXPECT_TRUE(state->consumed.Contains(1));
  EXPECT_FALSE(state->consumed.Contains(2));
}

}  // namespace
}  // namespace shufflefs
