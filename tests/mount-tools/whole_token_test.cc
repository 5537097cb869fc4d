// SPDX-License-Identifier: Apache-2.0
// What shufflectl token --save takes from the ledger.
#include "mount-tools/ctl/whole_token.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/mount-tools/temp_dir.h"

namespace shufflefs {
namespace {

class WholeTokenTest : public ::testing::Test {
 protected:
  WholeTokenTest() {
    LedgerEpoch& begin = state_.begin;
    begin.epoch = begin.binding = Epoch(4);
    begin.seed = Seed(7);
    begin.policy = "brand";
    begin.names = 10;
    begin.reactive = true;
    state_.bound = {{9, 9}, {1, 2}, {2, 1}, {3, 4}};
    state_.bound_consumed = 3;
  }

  // The line of a mount of which so much was read.
  EpochToken Line(uint64_t read) const {
    EpochToken line = TokenOf(state_, 5, read);
    line.pairs.reset();
    return line;
  }

  LedgerState state_;
};

TEST_F(WholeTokenTest, HasAllThatWasRead) {
  for (const uint64_t read : {0, 2, 3}) {
    const auto whole = WholeToken(Line(read), state_);
    ASSERT_TRUE(whole.ok()) << whole.status();
    ASSERT_TRUE(whole->has_value());
    EXPECT_EQ((*whole)->position, 3u);
    EXPECT_EQ((*whole)->pairs->shown,
              (std::vector<NameBinding>{{1, 2}, {2, 1}, {3, 4}}));
    EXPECT_TRUE(ParseToken(TokenText(**whole)).ok());
  }
}

TEST_F(WholeTokenTest, ALedgerThatLacksSomeIsRefused) {
  const EpochToken line = Line(3);
  state_.bound.pop_back();
  state_.bound_consumed = 2;
  EXPECT_TRUE(absl::IsFailedPrecondition(WholeToken(line, state_).status()));
  state_.bound.push_back({3, 5});  // as many, but others
  state_.bound_consumed = 3;
  EXPECT_TRUE(absl::IsFailedPrecondition(WholeToken(line, state_).status()));
}

TEST_F(WholeTokenTest, AnotherEpochSaysNothing) {
  const EpochToken line = Line(3);
  const auto is_empty = [&] {
    const auto whole = WholeToken(line, state_);
    EXPECT_TRUE(whole.ok()) << whole.status();
    return !whole->has_value();
  };
  EXPECT_FALSE(is_empty());
  const LedgerEpoch begin = state_.begin;
  state_.begin.epoch = Epoch(5);
  EXPECT_TRUE(is_empty());
  state_.begin = begin;
  state_.begin.seed = Seed(8);
  EXPECT_TRUE(is_empty());
  state_.begin = begin;
  state_.begin.policy = "met";
  EXPECT_TRUE(is_empty());
}

// Its plan says what was shown.
TEST_F(WholeTokenTest, OfAPlannedEpochThePositionIsEnough) {
  state_.begin.reactive = false;
  state_.begin.policy = "lirs";
  state_.consumed.Add(3);
  state_.consumed.Settle();
  EpochToken line = TokenOf(state_, 5, 4);
  const auto whole = WholeToken(line, state_);
  ASSERT_TRUE(whole.ok() && whole->has_value());
  EXPECT_EQ((*whole)->position, 4u);
  EXPECT_EQ((*whole)->read, (std::vector<uint64_t>{3}));
}

// The control directory of a mount whose state another user keeps.
TEST_F(WholeTokenTest, WithoutItsLedgerAPlannedEpochHasItsPosition) {
  TempDir mount;
  const std::string absent = mount.path() + "/absent";
  mount.Write(".shufflefs/control", "state = \"" + absent + "\"\n");
  mount.Write(".shufflefs/status", R"({"source": "/data", "views": []})");
  state_.begin.reactive = false;
  state_.begin.policy = "lirs";
  EpochToken line = TokenOf(state_, 5, 4);
  line.read.clear();
  mount.Write(".shufflefs/token", TokenText(line));
  const MountClient client(mount.path(), "");
  EXPECT_EQ(ReadWholeToken(client).value_or("none"), TokenText(line));
  state_.begin.reactive = true;
  line = Line(3);
  mount.Write(".shufflefs/token", TokenText(line));
  const absl::Status missing = ReadWholeToken(client).status();
  EXPECT_TRUE(absl::IsNotFound(missing)) << missing;
  EXPECT_NE(missing.message().find(absent), std::string::npos) << missing;
}

}  // namespace
}  // namespace shufflefs
