// SPDX-License-Identifier: Apache-2.0
// Pairs of a name and a sample in the ledger: what a reactive policy bound is
// given back, through holds, restarts, kills, compactions and damage.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "core/ledger/ledger.h"
#include "core/random/permutation.h"
#include "core/random/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/ledger/ledger_fixture.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing_support::SomeEpoch;
using Pairs = std::vector<NameBinding>;

LedgerEpoch Reactive(uint64_t epoch, uint64_t names = 1000) {
  LedgerEpoch begin = SomeEpoch(epoch, names);
  begin.reactive = true;
  begin.policy = "brand";
  return begin;
}

class LedgerPairsTest : public testing_support::LedgerTest {
 protected:
  LedgerState StateOf(const std::string& view = "train") {
    absl::optional<LedgerState> state = Open()->TakeLastState(view);
    EXPECT_TRUE(state.has_value());
    return state.value_or(LedgerState());
  }
  static void Consume(Ledger& ledger, const Pairs& pairs, uint8_t view = 1) {
    for (const NameBinding& pair : pairs) {
      ASSERT_TRUE(ledger.ConsumedUnder(view, pair.name, pair.sample).ok());
    }
  }
  // Each in a record of its own.
  static void Tell(Ledger& ledger, const Pairs& pairs) {
    for (const NameBinding& pair : pairs) {
      PackedPairs one(1000);
      one.Add(pair);
      ASSERT_TRUE(ledger.Bound(1, one).ok());
    }
  }
  static std::vector<uint64_t> Members(const SampleSet& set) {
    std::vector<uint64_t> members;
    set.ForEach([&](uint64_t sample) { members.push_back(sample); });
    return members;
  }
};

TEST_F(LedgerPairsTest, ThePairsOfAnEpochAreGivenBackInTheirOrder) {
  const Pairs pairs = {{17, 3}, {3, 900}, {900, 17}, {5, 3}};
  Consume(
      *[&] {
        auto ledger = Open();
        EXPECT_TRUE(ledger->BeginEpoch(Reactive(3)).ok());
        return ledger;
      }(),
      {pairs[0], pairs[1], pairs[2]});
  EXPECT_THAT(Read(),
              ElementsAre("epoch 1 train 1000 65261 3/3 7 brand 99 2 "
                          "0 reactive 1>2 5>3",
                          "shown 1 17>3", "shown 1 3>900", "shown 1 900>17"));
  const LedgerState state = StateOf();
  EXPECT_TRUE(state.begin.reactive);
  EXPECT_FALSE(state.begin.identity);
  EXPECT_THAT(Members(state.consumed), ElementsAre(3, 17, 900));
  // What was retained and not consumed comes first.
  EXPECT_EQ(state.bound, (Pairs{{1, 2}, {5, 3}, {17, 3}, {3, 900}, {900, 17}}));
}

// A name that was looked up shows the same after a restart, opened or not.
TEST_F(LedgerPairsTest, WhatWasToldIsKeptOnce) {
  const Pairs told = {{17, 3}, {3, 900}, {900, 17}};
  {
    auto ledger = Open();
    ASSERT_TRUE(ledger->BeginEpoch(Reactive(3)).ok());
    Tell(*ledger, told);
    Consume(*ledger, {told[1]});
  }
  EXPECT_EQ(StateOf().bound,
            (Pairs{{1, 2}, {5, 3}, told[0], told[2], told[1]}));
  {
    // The next run is asked once more.
    auto ledger = Open();
    const LedgerState state = *ledger->TakeLastState("train");
    ASSERT_TRUE(ledger->Continue(state).ok());
    Tell(*ledger, told);
    Consume(*ledger, {told[0]});
    ASSERT_TRUE(ledger->Compact().ok());
    Consume(*ledger, {told[2]});
  }
  const LedgerState state = StateOf();
  EXPECT_EQ(state.bound, (Pairs{{1, 2}, {5, 3}, told[1], told[0], told[2]}));
  EXPECT_EQ(state.bound_consumed, 3u);
}

TEST_F(LedgerPairsTest, LargeNumbersAreKept) {
  constexpr uint64_t kLast = kMaxLedgerNames - 1;
  const Pairs pairs = {{kLast, 0}, {0, kLast}, {0x123456789a, 0xfedcba9876}};
  LedgerEpoch begin = Reactive(0, kMaxLedgerNames);
  begin.retained.clear();
  begin.view = kMaxLedgerViews - 1;
  {
    const auto ledger = Open();
    ASSERT_TRUE(ledger->BeginEpoch(begin).ok());
    Consume(*ledger, pairs, begin.view);
  }
  EXPECT_EQ(StateOf().bound, pairs);
  ASSERT_TRUE(Open()->Compact().ok());
  EXPECT_EQ(StateOf().bound, pairs);
}

// A hold keeps the bijection: what was bound stays bound, nothing is consumed.
TEST_F(LedgerPairsTest, AHoldKeepsWhatWasBound) {
  LedgerEpoch begin = Reactive(3);
  begin.retained = {{1, 2}};
  {
    const auto ledger = Open();
    ASSERT_TRUE(ledger->BeginEpoch(begin).ok());
    Consume(*ledger, {{1, 2}, {7, 8}, {9, 10}});
    ASSERT_TRUE(ledger->Hold({1, Epoch(4), 'c', "partial"}).ok());
    Consume(*ledger, {{9, 10}, {50, 60}});
    ASSERT_TRUE(ledger->Consumed(1, 500).ok());
  }
  for (int i = 0; i < 3; ++i) {
    SCOPED_TRACE(i);
    LedgerState state = StateOf();
    EXPECT_EQ(state.begin.epoch, Epoch(4));
    EXPECT_EQ(state.begin.binding, Epoch(3));
    EXPECT_EQ(state.begin.retained, begin.retained);
    EXPECT_EQ(state.bound, (Pairs{{1, 2}, {7, 8}, {9, 10}, {50, 60}}));
    EXPECT_THAT(Members(state.consumed), ElementsAre(10, 60, 500));
    // However often it is compacted, or gone on with under another number.
    const auto ledger = Open();
    if (i == 0) {
      ASSERT_TRUE(ledger->Compact().ok());
    } else {
      state.begin.view = 7;
      ASSERT_TRUE(ledger->Continue(state).ok());
    }
  }
  Consume(*Open(), {{70, 80}}, 7);
  EXPECT_EQ(StateOf().bound,
            (Pairs{{1, 2}, {7, 8}, {9, 10}, {50, 60}, {70, 80}}));
}

TEST_F(LedgerPairsTest, CompactionKeepsPairsAndTheirOrderInFewBytes) {
  constexpr uint64_t kNames = 200000;  // more than one record holds
  const Permutation shown(kNames, RandomKey(5));
  const Permutation order(kNames, RandomKey(6));
  Pairs pairs;
  {
    const auto ledger = Open({.keep = {.epochs = 1}});
    ASSERT_TRUE(ledger->BeginEpoch(Reactive(0, kNames)).ok());
    Consume(*ledger, {{1, 1}});
    LedgerEpoch begin = Reactive(1, kNames);
    begin.retained.clear();
    ASSERT_TRUE(ledger->BeginEpoch(begin).ok());
    for (uint64_t i = 0; i < kNames; ++i) {
      pairs.push_back({order(i), shown(order(i))});
    }
    Consume(*ledger, pairs);
    ASSERT_TRUE(ledger->Compact().ok());
    EXPECT_LE(ledger->bytes(), kNames * 5);
    Consume(*ledger, {{0, 0}});  // it goes on where it was
  }
  pairs.push_back({0, 0});
  const LedgerState state = StateOf();
  EXPECT_EQ(state.begin.epoch, Epoch(1));
  EXPECT_EQ(state.consumed.size(), kNames);
  EXPECT_TRUE(state.bound == pairs);
}

TEST_F(LedgerPairsTest, OnlyAsManyEpochsAreKeptAsPairsFit) {
  constexpr uint64_t kNames = 1000;  // 2,500 bytes an epoch
  const auto count = [&](LedgerKeep keep) {
    const auto ledger = Open({.keep = keep});
    EXPECT_TRUE(ledger->Compact().ok());
    uint64_t epochs = 0;
    for (const std::string& line : Read()) {
      epochs += line.rfind("epoch", 0) == 0 ? 1 : 0;
    }
    return epochs;
  };
  {
    const auto ledger = Open();
    for (uint64_t epoch = 0; epoch < 10; ++epoch) {
      ASSERT_TRUE(ledger->BeginEpoch(Reactive(epoch, kNames)).ok());
      for (uint64_t i = 0; i < kNames; ++i) Consume(*ledger, {{i, i}});
    }
  }
  EXPECT_EQ(count({.epochs = 9}), 9);
  EXPECT_EQ(count({.epochs = 9, .pair_bytes = 5 * 2504}), 6);  // and the last
  EXPECT_EQ(count({.epochs = 9, .pair_bytes = 1}), 2);
  EXPECT_EQ(count({.epochs = 1, .pair_bytes = 1}), 1);
  EXPECT_EQ(StateOf().bound.size(), kNames + 2);  // two were retained
}

TEST_F(LedgerPairsTest, SurvivesKill) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    auto ledger = Ledger::Open(path(), {});
    bool ok = ledger.ok() && (*ledger)->BeginEpoch(Reactive(0, 100000)).ok();
    for (uint64_t sample = 0; ok && sample < 50000; ++sample) {
      ok = (*ledger)->ConsumedUnder(1, sample + 7, sample).ok();
    }
    const char answer = ok ? 'y' : 'n';
    if (::write(ready[1], &answer, 1) == 1) ::pause();
    ::_exit(1);
  }
  char answer = 'n';
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  ::close(ready[0]);
  ::close(ready[1]);
  EXPECT_TRUE(Open()->cut().ok());
  const LedgerState state = StateOf();
  EXPECT_EQ(state.consumed.size(), 50000);
  ASSERT_EQ(state.bound.size(), 50002);
  EXPECT_EQ(state.bound.back(), (NameBinding{50006, 49999}));
}

class ShownCounter : public LedgerVisitor {
 public:
  void OnShown(uint8_t, const NameBinding&) override { ++shown; }
  uint64_t shown = 0;
};

// Killed at any moment: a pair is there or it is not.
TEST_F(LedgerPairsTest, AKillWhileAppendingKeepsAPrefix) {
  constexpr uint64_t kMost = 500000;
  LedgerEpoch begin = Reactive(0, 2 * kMost);
  begin.retained.clear();
  ASSERT_TRUE(Open()->BeginEpoch(begin).ok());
  const pid_t child = ::fork();
  if (child == 0) {
    auto ledger = Ledger::Open(path(), {});
    bool ok = ledger.ok();
    for (uint64_t i = 0; ok && i < kMost; ++i) {
      ok = (*ledger)->ConsumedUnder(1, i, 2 * i).ok();
      if (i % 100 == 0) ::usleep(1);
    }
    ::_exit(1);
  }
  const auto reader = LedgerReader::Open(path());
  ASSERT_TRUE(reader.ok()) << reader.status();
  ShownCounter seen;
  // An append that is seen half done may be taken for damage.
  while (seen.shown < 5000) {
    if (!(*reader)->Run(seen).ok()) ::usleep(100);
  }
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  const LedgerState state = StateOf();
  ASSERT_GE(state.bound.size(), seen.shown);
  for (uint64_t i = 0; i < state.bound.size(); ++i) {
    ASSERT_EQ(state.bound[i], (NameBinding{i, 2 * i}));
  }
}

TEST_F(LedgerPairsTest, EveryFlippedBitOfASetIsFound) {
  {
    const auto ledger = Open();
    ASSERT_TRUE(ledger->BeginEpoch(Reactive(0)).ok());
    Consume(*ledger, {{1, 2}, {7, 8}, {9, 10}});
    ASSERT_TRUE(ledger->Hold({1, Epoch(1), 'c', ""}).ok());
    Consume(*ledger, {{7, 8}, {50, 60}});
    ASSERT_TRUE(ledger->Compact().ok());
  }
  const std::vector<std::string> all = Read();
  EXPECT_EQ(std::count(all.begin(), all.end(), "bound 1 1>2 7>8 9>10"), 1);
  const std::string whole = Bytes();
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    const char byte = whole[bit / 8];
    PutByte(bit / 8, static_cast<char>(byte ^ (1 << bit % 8)));
    absl::Status status;
    const std::vector<std::string> lines = Read(&status);
    ASSERT_FALSE(status.ok()) << "bit " << bit;
    ASSERT_LT(lines.size(), all.size()) << "bit " << bit;
    ASSERT_TRUE(std::equal(lines.begin(), lines.end(), all.begin()))
        << "bit " << bit;
    PutByte(bit / 8, byte);
  }
}

TEST_F(LedgerPairsTest, NamesAndSamplesBeyondTheViewAreRefused) {
  for (const NameBinding& pair : Pairs{{10, 0}, {0, 10}}) {
    {
      const auto ledger = Open();
      LedgerEpoch begin = Reactive(0, 10);
      begin.retained.clear();
      ASSERT_TRUE(ledger->BeginEpoch(begin).ok());
      Consume(*ledger, {pair});
    }
    absl::Status status;
    Read(&status);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("sample 10 of view 1 which has 10 samples"));
    ::unlink(path().c_str());
  }
}

TEST_F(LedgerPairsTest, AppendsGoOnWhileItCompacts) {
  constexpr uint64_t kSamples = 20000;
  const auto ledger = Open();
  LedgerEpoch begin = Reactive(0, kSamples);
  begin.retained.clear();
  {
    std::jthread compacting([&](std::stop_token stop) {
      while (!stop.stop_requested()) {
        ASSERT_TRUE(ledger->Compact().ok());
      }
    });
    ASSERT_TRUE(ledger->BeginEpoch(begin).ok());
    for (uint64_t i = 0; i < kSamples; ++i) Consume(*ledger, {{i, i}});
    ASSERT_TRUE(ledger->Hold({1, Epoch(1), 'c', ""}).ok());
    for (uint64_t i = 0; i < kSamples; i += 2) Consume(*ledger, {{i, i}});
  }
  const LedgerState state = StateOf();
  EXPECT_EQ(state.consumed.size(), kSamples / 2);
  ASSERT_EQ(state.bound.size(), kSamples);
  EXPECT_EQ(state.bound.front(), (NameBinding{1, 1}));
  EXPECT_EQ(state.bound.back(), (NameBinding{kSamples - 2, kSamples - 2}));
}

// The numbers of views change with the configuration: an old epoch of one is
// not the running one of another.
TEST_F(LedgerPairsTest, AViewThatGotAnothersNumberKeepsItsOwnPairs) {
  LedgerEpoch a = Reactive(0);
  a.view_path = "z";
  a.retained.clear();
  LedgerEpoch b = a;
  b.view = 2;
  b.view_path = "a";
  {
    const auto ledger = Open();
    ASSERT_TRUE(ledger->BeginEpoch(a).ok());
    ASSERT_TRUE(ledger->BeginEpoch(b).ok());
    std::swap(a.view, b.view);
    ASSERT_TRUE(ledger->BeginEpoch(a).ok());
    ASSERT_TRUE(ledger->BeginEpoch(b).ok());
    Consume(*ledger, {{1, 2}}, b.view);
    ASSERT_TRUE(ledger->Compact().ok());
    Consume(*ledger, {{3, 4}}, b.view);
    Consume(*ledger, {{5, 6}}, a.view);
  }
  EXPECT_EQ(StateOf("a").bound, (Pairs{{1, 2}, {3, 4}}));
  EXPECT_EQ(StateOf("z").bound, (Pairs{{5, 6}}));
}

// Nor does it go on as that of a view that had its number meanwhile.
TEST_F(LedgerPairsTest, AViewThatComesBackGoesOnUnderItsNumber) {
  LedgerEpoch a = Reactive(0);
  a.retained.clear();
  LedgerEpoch b = a;
  b.view_path = "other";
  {
    const auto ledger = Open();
    ASSERT_TRUE(ledger->BeginEpoch(a).ok());
    Consume(*ledger, {{1, 2}});
  }
  const uint64_t size = Bytes().size();
  {
    const auto ledger = Open();
    ASSERT_TRUE(ledger->Continue(*ledger->TakeLastState("train")).ok());
    EXPECT_EQ(ledger->bytes(), size) << "nothing to say";
  }
  ASSERT_TRUE(Open()->BeginEpoch(b).ok());
  for (const bool compact : {false, true}) {
    const auto ledger = Open();
    if (compact) {
      ASSERT_TRUE(ledger->Compact().ok());
    }
    ASSERT_TRUE(ledger->Continue(*ledger->TakeLastState("train")).ok());
    if (!compact) Consume(*ledger, {{3, 4}});
  }
  EXPECT_EQ(StateOf("train").bound, (Pairs{{1, 2}, {3, 4}}));
  EXPECT_THAT(StateOf("other").bound, IsEmpty());
  const std::vector<std::string> lines = Read();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "shown 1 1>2"), 1)
      << "told again, and not kept twice";
}

// A ledger of before there were pairs.
TEST_F(LedgerPairsTest, ALedgerOfTheFirstVersionIsTakenOver) {
  {
    const auto ledger = Open();
    ASSERT_TRUE(ledger->BeginEpoch(SomeEpoch(8)).ok());
    ASSERT_TRUE(ledger->Consumed(1, 5).ok());
  }
  std::string bytes = Bytes();
  const std::string now = bytes;
  bytes[8] = 1;
  const uint64_t hash = 0x20a7495863e79d33;  // as the first version wrote it
  std::memcpy(&bytes[56], &hash, sizeof hash);
  WriteBytes(bytes);
  EXPECT_EQ(Read().size(), 2);
  {
    const auto ledger = Open();
    ASSERT_NE(ledger, nullptr);
    EXPECT_TRUE(ledger->cut().ok());
    const auto state = ledger->TakeLastState("train");
    ASSERT_TRUE(state);
    EXPECT_FALSE(state->begin.reactive);
    EXPECT_THAT(state->bound, IsEmpty());
    EXPECT_EQ(state->consumed.size(), 1);
  }
  // It says what it is now, so that an older program leaves it alone.
  EXPECT_EQ(Bytes().substr(0, 64), now.substr(0, 64));
}

}  // namespace
}  // namespace shufflefs
