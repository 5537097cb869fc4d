// SPDX-License-Identifier: Apache-2.0
// What the ledger gives back: after a close, a kill, a compaction, and while
// it is written.
#include "core/ledger/ledger.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "core/base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/ledger/ledger_fixture.h"
#include "tests/testing/effort.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using testing_support::SomeEpoch;
using testing_support::Transcript;
using LedgerTest = testing_support::LedgerTest;

TEST_F(LedgerTest, GivesBackWhatWasWritten) {
  WriteSome();
  const std::vector<std::string> once = {
      "epoch 1 train 1000 65261 3/3 7 lirs 99 2 0 1>2 5>3",
      "consumed 1 0",
      "consumed 1 999",
      "consumed 1 17",
      "switch 1 3 policy = \"lirs\"",
      "hold 1 4 c partial",
      "shown 1 998>70",
      "consumed 1 4"};
  const std::vector<std::string> lines = Read();
  ASSERT_EQ(lines.size(), 2 * once.size());
  EXPECT_EQ(std::vector<std::string>(lines.begin(), lines.begin() + 8), once);
}

TEST_F(LedgerTest, AnEmptyLedgerIsFine) {
  Open();
  EXPECT_THAT(Read(), ElementsAre());
  EXPECT_FALSE(Open()->TakeLastState("train"));
  EXPECT_TRUE(Open()->cut().ok());
}

TEST_F(LedgerTest, KnowsThePolicyOfAnEpochInItsMiddle) {
  const auto under_way = [this](uint64_t consumed) {
    std::filesystem::remove(path());
    LedgerEpoch epoch = SomeEpoch(1);
    {
      const auto ledger = Open();
      EXPECT_TRUE(ledger->BeginEpoch(epoch).ok());
      for (uint64_t s = 0; s < consumed; ++s) {
        EXPECT_TRUE(ledger->Consumed(1, s).ok());
      }
    }
    return Open()->PolicyUnderWay(epoch.view_path, epoch.fingerprint);
  };
  const LedgerEpoch epoch = SomeEpoch(1);
  EXPECT_EQ(under_way(0), "");
  EXPECT_EQ(under_way(epoch.names), "");
  EXPECT_EQ(under_way(epoch.names - 1), epoch.policy);
  EXPECT_EQ(under_way(1), epoch.policy);
  const auto ledger = Open();
  EXPECT_EQ(ledger->PolicyUnderWay("other", epoch.fingerprint), "");
  EXPECT_EQ(ledger->PolicyUnderWay(epoch.view_path, epoch.fingerprint + 1), "");
  ASSERT_TRUE(ledger->TakeLastState(epoch.view_path));
  EXPECT_EQ(ledger->PolicyUnderWay(epoch.view_path, epoch.fingerprint), "");
}

TEST_F(LedgerTest, KnowsWhatWasReadBeforeAnEpochWasShown) {
  for (const ReadBefore read :
       {ReadBefore::kNothing, ReadBefore::kSomething, ReadBefore::kUnknown}) {
    std::filesystem::remove(path());
    LedgerEpoch epoch = SomeEpoch(1);
    epoch.read_before = read;
    EXPECT_TRUE(Open()->BeginEpoch(epoch).ok());
    const auto state = Open()->TakeLastState(epoch.view_path);
    ASSERT_TRUE(state);
    EXPECT_EQ(state->begin.read_before, read);
    EXPECT_TRUE(SameBinding(state->begin, epoch));
    epoch.read_before = ReadBefore(1 - static_cast<int>(read) % 2);
    EXPECT_FALSE(SameBinding(state->begin, epoch));
  }
}

TEST_F(LedgerTest, LastStateContinuesTheEpoch) {
  WriteSome();
  const auto ledger = Open();
  EXPECT_TRUE(ledger->cut().ok());
  auto state = ledger->TakeLastState("train");
  ASSERT_TRUE(state);
  // Held once since epoch 4 began: counted on, bound as before.
  EXPECT_EQ(state->begin.epoch, Epoch(5));
  EXPECT_EQ(state->begin.binding, Epoch(4));
  EXPECT_EQ(state->begin.policy, "lirs");
  EXPECT_EQ(state->begin.retained.size(), 2);
  EXPECT_EQ(state->consumed.size(), 2);
  EXPECT_TRUE(state->consumed.Contains(4));
  EXPECT_FALSE(state->consumed.Contains(17));
  EXPECT_FALSE(ledger->TakeLastState("train"));  // given once
  EXPECT_FALSE(ledger->TakeLastState("val"));

  // Under another number, as after a change of the configuration.
  state->begin.view = 0;
  ASSERT_TRUE(ledger->Continue(*state).ok());
  ASSERT_TRUE(ledger->Consumed(0, 8).ok());
  const auto again = Open()->TakeLastState("train");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->begin.view, 0);
  std::vector<uint64_t> consumed;
  again->consumed.ForEach([&](uint64_t s) { consumed.push_back(s); });
  EXPECT_THAT(consumed, ElementsAre(4, 8, 70));
}

TEST_F(LedgerTest, OpensKeepTheirOrderOverCompactionsAndNumbers) {
  const auto opened = [](LedgerOpen::Kind kind, uint64_t name) {
    LedgerOpens opens;
    opens.opens.push_back({kind, name});
    return opens;
  };
  const std::vector<LedgerOpen> expected = {
      {LedgerOpen::Kind::kFirst, 0},  {LedgerOpen::Kind::kFirst, 999},
      {LedgerOpen::Kind::kAgain, 5},  {LedgerOpen::Kind::kFirst, 17},
      {LedgerOpen::Kind::kDouble, 5}, {LedgerOpen::Kind::kAgain, 0}};
  auto ledger = Open();
  ASSERT_TRUE(ledger->BeginEpoch(SomeEpoch(3)).ok());
  ASSERT_TRUE(ledger->Opened(1, opened(LedgerOpen::Kind::kAgain, 3)).ok());
  // What was seen of an epoch is there with it.
  ASSERT_TRUE(
      ledger
          ->BeginEpoch(SomeEpoch(4), std::vector<NameBinding>{{7, 0}, {8, 999}})
          .ok());
  ASSERT_TRUE(ledger->Opened(1, opened(LedgerOpen::Kind::kAgain, 5)).ok());
  ASSERT_TRUE(ledger->Consumed(1, 17).ok());
  ASSERT_TRUE(ledger->Opened(1, opened(LedgerOpen::Kind::kDouble, 5)).ok());
  ASSERT_TRUE(ledger->Compact().ok());
  ASSERT_TRUE(ledger->Opened(1, opened(LedgerOpen::Kind::kAgain, 0)).ok());
  for (const uint8_t view : {1, 0}) {
    ledger.reset();
    ledger = Open();
    auto state = ledger->TakeLastState("train");
    ASSERT_TRUE(state);
    EXPECT_EQ(state->recent.opens, expected);
    EXPECT_EQ(state->consumed.size(), 3);
    state->begin.view = view;
    ASSERT_TRUE(ledger->Continue(*state).ok());
  }
  // A hold begins a pass of which only what was seen of it is known.
  ASSERT_TRUE(ledger
                  ->Hold({0, Epoch(5), 'c', "partial"}, false,
                         std::vector<NameBinding>{{1, 2}})
                  .ok());
  ledger.reset();
  ledger = Open();
  const auto state = ledger->TakeLastState("train");
  ASSERT_TRUE(state);
  EXPECT_EQ(state->begin.epoch, Epoch(5));
  EXPECT_TRUE(state->begin.unexplained);
  EXPECT_EQ(state->recent.opens.size(), 1);
}

TEST_F(LedgerTest, KnowsWhichContainersWereReadWhole) {
  const LedgerEpoch epoch = SomeEpoch(1);
  const auto last = [&] {
    return Open()->TakeLastState(epoch.view_path)->containers;
  };
  {
    const auto ledger = Open();
    ASSERT_TRUE(ledger->BeginEpoch(epoch).ok());
    ASSERT_TRUE(ledger->ReadWhole(1, {epoch.binding, {9}}).ok());
    ASSERT_TRUE(ledger->ReadWhole(1, {epoch.binding, {3}}).ok());
    // Its reader ended after the next epoch had begun.
    const Epoch before(epoch.binding.value() - 1);
    ASSERT_TRUE(ledger->ReadWhole(1, {before, {5}}).ok());
  }
  EXPECT_THAT(last(), ElementsAre(3, 9));
  ASSERT_TRUE(Open()->Compact().ok());
  EXPECT_THAT(last(), ElementsAre(3, 9));
  {
    const auto ledger = Open();
    LedgerState state = *ledger->TakeLastState(epoch.view_path);
    state.begin.view = 2;  // another number than before
    ASSERT_TRUE(ledger->Continue(state).ok());
  }
  EXPECT_THAT(last(), ElementsAre(3, 9));
  ASSERT_TRUE(Open()->BeginEpoch(epoch).ok());
  EXPECT_THAT(last(), ElementsAre());
}

TEST_F(LedgerTest, OfManyOpensTheLastAreTold) {
  RecentOpens recent;
  for (uint64_t i = 0; i < 20; ++i) recent.Add({LedgerOpen::Kind::kAgain, i});
  for (uint64_t i = 0; i < 2 * RecentOpens::kKept; ++i) {
    recent.Add({LedgerOpen::Kind::kDouble, i});
  }
  EXPECT_EQ(recent.told().untold, 20);
  EXPECT_GE(recent.told().opens.size(), RecentOpens::kKept);
  RecentOpens firsts;
  for (uint64_t i = 0; i < 5000; ++i) firsts.Add({LedgerOpen::Kind::kFirst, i});
  firsts.Add({LedgerOpen::Kind::kAgain, 3});
  firsts.Trim();
  EXPECT_EQ(firsts.told().opens.size(), 1101);
  EXPECT_EQ(firsts.told().opens[0].number, 3900);
}

TEST_F(LedgerTest, SurvivesKill) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    auto ledger = Ledger::Open(path(), {});
    bool ok = ledger.ok() && (*ledger)->BeginEpoch(SomeEpoch(0, 100000)).ok();
    // Long enough that the file grows several times.
    for (uint64_t sample = 0; ok && sample < 50000; ++sample) {
      ok = (*ledger)->Consumed(1, sample).ok();
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
  const auto ledger = Open();
  EXPECT_TRUE(ledger->cut().ok()) << ledger->cut();
  const auto state = ledger->TakeLastState("train");
  ASSERT_TRUE(state);
  EXPECT_EQ(state->consumed.size(), 50000);
}

// A view that has another number since a restart goes on with its epoch.
TEST_F(LedgerTest, CompactionKeepsOneFormOfAnEpoch) {
  const auto ledger = Open();
  ASSERT_TRUE(ledger->BeginEpoch(SomeEpoch(3)).ok());
  ASSERT_TRUE(ledger->Consumed(1, 5).ok());
  LedgerEpoch anew = SomeEpoch(3);
  anew.view = 2;
  ASSERT_TRUE(ledger->BeginEpoch(anew).ok());
  ASSERT_TRUE(ledger->Consumed(2, 6).ok());
  ASSERT_TRUE(ledger->Compact().ok());
  const std::vector<std::string> lines = Read();
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                          [](const std::string& line) {
                            return line.rfind("epoch ", 0) == 0;
                          }),
            1);
}

TEST_F(LedgerTest, CompactionKeepsTheLastEpochsAndTheRunningOne) {
  const auto ledger = Open({.keep = {.epochs = 3}});
  for (uint64_t epoch = 0; epoch < 10; ++epoch) {
    LedgerEpoch begin = SomeEpoch(epoch, 20000);
    ASSERT_TRUE(ledger->BeginEpoch(begin).ok());
    begin.view = 2;
    begin.view_path = "other";
    ASSERT_TRUE(ledger->BeginEpoch(begin).ok());
    for (uint64_t sample = 0; sample < 10000 + epoch; ++sample) {
      ASSERT_TRUE(ledger->Consumed(1, sample).ok());
    }
    ASSERT_TRUE(ledger->Consumed(2, 77).ok());
    ASSERT_TRUE(ledger->Switch({1, Epoch(epoch), "x"}).ok());
  }
  const uint64_t before = ledger->bytes();
  ASSERT_TRUE(ledger->Compact().ok());
  EXPECT_LT(ledger->bytes(), before / 20);
  // It goes on where it was.
  ASSERT_TRUE(ledger->Consumed(1, 15000).ok());
  Transcript transcript;
  ASSERT_TRUE(ReplayLedger(path(), transcript).ok());
  uint64_t epochs = 0, switches = 0;
  for (const std::string& line : transcript.lines) {
    epochs += line.rfind("epoch", 0) == 0 ? 1 : 0;
    switches += line.rfind("switch", 0) == 0 ? 1 : 0;
  }
  EXPECT_EQ(epochs, 6);
  EXPECT_EQ(switches, 3);
  const auto again = Open();
  const auto state = again->TakeLastState("train");
  ASSERT_TRUE(state);
  EXPECT_EQ(state->begin.epoch, Epoch(9));
  EXPECT_EQ(state->consumed.size(), 10010);
  EXPECT_TRUE(state->consumed.Contains(15000));
  const auto other = again->TakeLastState("other");
  ASSERT_TRUE(other);
  EXPECT_EQ(other->consumed.size(), 1);
  EXPECT_FALSE(std::filesystem::exists(path() + ".new"));
}

TEST_F(LedgerTest, CompactsItselfOnAThread) {
  uint64_t largest = 0;
  {
    const auto ledger = Open({.keep = {.epochs = 2}, .compact_bytes = 10000});
    for (uint64_t epoch = 0; epoch < 50; ++epoch) {
      ASSERT_TRUE(ledger->BeginEpoch(SomeEpoch(epoch, 2000)).ok());
      for (uint64_t sample = 0; sample < 2000; ++sample) {
        ASSERT_TRUE(ledger->Consumed(1, sample).ok());
      }
    }
    // However late its thread came, one more epoch gives it another go.
    for (uint64_t epoch = 50; epoch < 10000 && ledger->bytes() > 40000;
         ++epoch) {
      ASSERT_TRUE(ledger->BeginEpoch(SomeEpoch(epoch, 2000)).ok());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    largest = ledger->bytes();
  }
  EXPECT_LE(largest, 40000);
  Transcript transcript;
  EXPECT_TRUE(ReplayLedger(path(), transcript).ok());
}

// A view whose boundaries are all held begins no epoch.
TEST_F(LedgerTest, HeldEpochsAreCompactedToo) {
  const auto ledger = Open({.keep = {.epochs = 2}, .compact_bytes = 10000});
  ASSERT_TRUE(ledger->BeginEpoch(SomeEpoch(0, 2000)).ok());
  uint64_t epoch = 1;
  const auto read_and_hold = [&] {
    for (uint64_t sample = 3; sample < 2000; ++sample) {
      ASSERT_TRUE(ledger->Consumed(1, sample).ok());
    }
    ASSERT_TRUE(ledger
                    ->Hold({1, Epoch(epoch++), 'b', "foreign-job"}, false,
                           std::vector<NameBinding>{{1, 2}})
                    .ok());
  };
  while (epoch < 50) read_and_hold();
  // What is appended while it compacts is not compacted. So it gets some time
  // for itself after each hold.
  while (epoch < 200 && ledger->bytes() > 40000) {
    read_and_hold();
    for (int i = 0; i < 40 && ledger->bytes() > 40000; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  EXPECT_LE(ledger->bytes(), 40000);
  ASSERT_TRUE(ledger->Compact().ok());
  const auto state = Open()->TakeLastState("train");
  ASSERT_TRUE(state);
  EXPECT_EQ(state->begin.epoch, Epoch(epoch - 1));
  EXPECT_EQ(state->begin.binding, Epoch(0));
  EXPECT_EQ(state->consumed.size(), 1);
}

TEST_F(LedgerTest, GoesOnWhereItCannotBeCompacted) {
  // A directory stands where the new file would be made.
  std::filesystem::create_directory(path() + ".new");
  const auto ledger = Open({.keep = {.epochs = 1}, .compact_bytes = 100});
  for (uint64_t epoch = 0; epoch < 5; ++epoch) {
    ASSERT_TRUE(ledger->BeginEpoch(SomeEpoch(epoch)).ok());
    ASSERT_TRUE(ledger->Consumed(1, epoch).ok());
  }
  const absl::Status status = ledger->Compact();
  EXPECT_EQ(ErrnoOf(status), EISDIR);
  EXPECT_EQ(Read().size(), 10);
}

TEST_F(LedgerTest, AppendsGoOnWhileItCompacts) {
  const auto ledger = Open({.keep = {.epochs = 4}});
  constexpr uint64_t kSamples = 20000;
  {
    std::jthread compacting([&](std::stop_token stop) {
      while (!stop.stop_requested()) {
        ASSERT_TRUE(ledger->Compact().ok());
      }
    });
    for (uint64_t epoch = 0; epoch < 5; ++epoch) {
      ASSERT_TRUE(ledger->BeginEpoch(SomeEpoch(epoch, kSamples)).ok());
      std::vector<std::jthread> readers;
      for (uint64_t reader = 0; reader < 2; ++reader) {
        readers.emplace_back([&, reader] {
          for (uint64_t i = reader; i < kSamples; i += 2) {
            ASSERT_TRUE(ledger->Consumed(1, i).ok());
          }
        });
      }
    }
  }
  Transcript transcript;
  ASSERT_TRUE(ReplayLedger(path(), transcript).ok());
  std::vector<uint64_t> consumed;
  for (const std::string& line : transcript.lines) {
    if (line.rfind("epoch", 0) == 0) consumed.push_back(0);
    if (line.rfind("consumed", 0) == 0) ++consumed.back();
  }
  ASSERT_GE(consumed.size(), 4);
  for (const uint64_t count : consumed) EXPECT_EQ(count, kSamples);
}

TEST_F(LedgerTest, CanBeReadWhileItIsWritten) {
  const auto ledger = Open();
  std::jthread writer([&](std::stop_token stop) {
    for (uint64_t epoch = 0; !stop.stop_requested(); ++epoch) {
      ASSERT_TRUE(ledger->BeginEpoch(SomeEpoch(epoch)).ok());
      for (uint64_t sample = 0; sample < 50; ++sample) {
        ASSERT_TRUE(ledger->Consumed(1, sample).ok());
      }
      if (ledger->bytes() >
          static_cast<uint64_t>(testing_support::Rounds(4 << 20)))
        return;
    }
  });
  for (int i = 0; i < testing_support::Rounds(30, 8); ++i) {
    Transcript transcript;
    const absl::Status status = ReplayLedger(path(), transcript);
    EXPECT_TRUE(status.ok()) << status;
  }
}

// A restart must not take for the last opens what nobody opened here, or what
// a job opened that is gone.
TEST_F(LedgerTest, WhatIsNotKnownOfTheOrderOfOpensIsNotMadeUp) {
  for (const bool token : {false, true}) {
    {
      const auto ledger = Open();
      LedgerState state;
      state.begin = SomeEpoch(token ? 1 : 0);
      if (token) {
        for (const uint64_t sample : {4, 7}) state.consumed.Add(sample);
        state.consumed.Settle();
        ASSERT_EQ(ledger->Adopt(LedgerPass::Apart(state)), absl::OkStatus());
      } else {
        ASSERT_EQ(ledger->BeginEpoch(state.begin), absl::OkStatus());
        for (const uint64_t sample : {4, 7}) {
          ASSERT_EQ(ledger->Consumed(1, sample), absl::OkStatus());
        }
        ASSERT_EQ(ledger->Opened(1, ForgottenOpens()), absl::OkStatus());
      }
      ASSERT_EQ(ledger->Compact(), absl::OkStatus());
    }
    const absl::optional<LedgerState> last = Open()->TakeLastState("train");
    ASSERT_TRUE(last);
    EXPECT_EQ(last->consumed.size(), 2);
    EXPECT_TRUE(last->recent.opens.empty()) << token;
    EXPECT_EQ(last->recent.untold, 0);
  }
}

}  // namespace
}  // namespace shufflefs
