// SPDX-License-Identifier: Apache-2.0
// The line of a token, there and back, and what is no such line.
#include "core/view/epoch_token.h"

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"

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
  token.digest = 42;
  token.pairs.emplace();
  token.pairs->bound = {{2, 3}};
  token.pairs->shown = {{5, 5}, {0, 70000}};
  token.pairs->times = std::string("\0\1 x", 4);
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
  EXPECT_EQ(planned.kept, PlannedToken().kept);
  EXPECT_EQ(planned.read, PlannedToken().read);
  EXPECT_FALSE(planned.reactive());
  const EpochToken reactive = ParsedToken(TokenText(ReactiveToken()));
  EXPECT_EQ(reactive.digest, 42u);
  ASSERT_TRUE(reactive.pairs.has_value());
  EXPECT_EQ(reactive.pairs->bound, ReactiveToken().pairs->bound);
  EXPECT_EQ(reactive.pairs->shown, ReactiveToken().pairs->shown);
  EXPECT_EQ(reactive.pairs->times, ReactiveToken().pairs->times);
}

TEST(EpochTokenTest, TellsAnUncountedPositionAndNamesOfTheirOwn) {
  EpochToken token;
  token.policy = "native";
  token.identity = true;
  const EpochToken back = ParsedToken(TokenText(token));
  EXPECT_FALSE(back.position.has_value());
  EXPECT_TRUE(back.identity);
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

TEST(EpochTokenTest, ALineOfTheFormerVersionIsNamedSo) {
  const auto token = ParseToken("0123456789abcdef lirs 0 1 900\n");
  EXPECT_EQ(token.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(token.status().message()), HasSubstr("version"));
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
  EXPECT_EQ(two.pairs->bound, (std::vector<CarriedPair>{{9, 9}, {3, 4}}));
  EXPECT_EQ(two.pairs->shown, (std::vector<CarriedPair>{{1, 2}, {2, 1}}));
  ShownPairs shown;
  for (const CarriedPair& pair : two.pairs->shown) shown.Add(pair);
  EXPECT_EQ(two.digest, shown.sum);
  EXPECT_NE(two.digest, all.digest);
}

}  // namespace
}  // namespace shufflefs
