// SPDX-License-Identifier: Apache-2.0
// Reactive epochs as they come, with holds, restarts and compactions, are
// proven, and it is told how they were mixed.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/quality/epoch_memory.h"
#include "core/quality/shuffle_quality.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/verify/verify_fixture.h"

namespace shufflefs {
namespace {

using testing_support::Pairs;
using testing_support::RandomPairs;

constexpr uint64_t kGroups = 4;
constexpr uint64_t kFiles = 25;
constexpr uint64_t kNames = kGroups * kFiles;

class VerifyRunsTest : public testing_support::VerifyFixture {
 protected:
  VerifyRunsTest() : VerifyFixture(kGroups, kFiles) {}
};

// Some passes of a view: epochs, held ones, restarts with another number,
// compactions, in any order. Pairs are read in part, or all.
struct RecordedPass {
  Epoch epoch{0};
  Pairs shown;
};

class RandomRun {
 public:
  RandomRun(uint64_t seed, LedgerEpoch first)
      : rng_(DeriveKey(Seed(seed), Epoch(0), 0, Purpose::kTest)),
        begin_(std::move(first)) {}

  template <typename Open>
  std::vector<RecordedPass> Play(Open&& open) {
    std::unique_ptr<Ledger> ledger = open();
    NextEpoch(*ledger);
    for (int step = 0; step < 12; ++step) {
      switch (rng_.Bounded(5)) {
        case 0:
          NextEpoch(*ledger);
          break;
        case 1:
          begin_.epoch = Epoch(begin_.epoch.value() + 1);
          EXPECT_TRUE(ledger->Hold({begin_.view, begin_.epoch, 'c', ""}).ok());
          Begun();
          break;
        case 2:
          EXPECT_TRUE(ledger->Compact().ok());
          break;
        case 3:
          ledger.reset();
          ledger = open();
          Restart(*ledger);
          break;
        default:
          break;
      }
      Read(*ledger, rng_.Bounded(2) == 0 ? kNames : rng_.Bounded(40));
    }
    return std::move(passes_);
  }

 private:
  void NextEpoch(Ledger& ledger) {
    begin_.epoch = Epoch(begin_.epoch.value() + 1);
    begin_.binding = begin_.epoch;
    pairs_ = RandomPairs({kGroups, kFiles}, rng_);
    begin_.retained.assign(
        pairs_.begin(),
        pairs_.begin() + static_cast<std::ptrdiff_t>(rng_.Bounded(5)));
    EXPECT_TRUE(ledger.BeginEpoch(begin_).ok());
    Begun();
  }
  void Begun() {
    passes_.push_back({begin_.epoch, {}});
    // A held epoch shows the same pairs, read in another order.
    const Permutation order(kNames, RandomKey(rng_.Next()));
    Pairs read;
    for (uint64_t i = 0; i < kNames; ++i) read.push_back(pairs_[order(i)]);
    pairs_ = std::move(read);
  }
  void Restart(Ledger& ledger) {
    absl::optional<LedgerState> state = ledger.TakeLastState("");
    ASSERT_TRUE(state.has_value());
    EXPECT_EQ(state->consumed.size(), passes_.back().shown.size());
    EXPECT_TRUE(RetainedBindings::Make(state->bound).ok());
    begin_.view = state->begin.view = static_cast<uint8_t>(rng_.Bounded(3));
    EXPECT_TRUE(ledger.Continue(*state).ok());
  }
  void Read(Ledger& ledger, uint64_t count) {
    Pairs& shown = passes_.back().shown;
    for (; count > 0 && shown.size() < kNames; --count) {
      shown.push_back(pairs_[shown.size()]);
      ASSERT_TRUE(ledger
                      .ConsumedUnder(begin_.view, shown.back().name,
                                     shown.back().sample)
                      .ok());
    }
  }

  Rng rng_;
  LedgerEpoch begin_;
  Pairs pairs_;
  std::vector<RecordedPass> passes_;
};

template <typename Number>
uint64_t FirstAbsent(const Pairs& pairs, Number&& number) {
  for (uint64_t i = 0;; ++i) {
    if (std::none_of(pairs.begin(), pairs.end(), [&](const NameBinding& pair) {
          return number(pair) == i;
        })) {
      return i;
    }
  }
}

TEST_F(VerifyRunsTest, RandomEpochsAreProven) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    unlink(path_.c_str());
    const std::vector<RecordedPass> passes =
        RandomRun(seed, Reactive(0)).Play([this] { return Open(); });
    const LedgerProof proof = Proof();
    EXPECT_FALSE(proof.broken());
    ASSERT_EQ(proof.epochs.size(), passes.size());
    for (size_t i = 0; i < passes.size(); ++i) {
      const EpochProof& epoch = proof.epochs[i];
      const Pairs& shown = passes[i].shown;
      EXPECT_EQ(epoch.begin.epoch, passes[i].epoch);
      EXPECT_TRUE(epoch.bijection.ok()) << epoch.bijection;
      EXPECT_EQ(epoch.consumed, shown.size());
      EXPECT_EQ(epoch.complete(), shown.size() == kNames);
      EXPECT_EQ(epoch.running, i + 1 == passes.size());
      EXPECT_EQ(epoch.quality.has_value(), epoch.complete());
      if (epoch.complete()) {
        EXPECT_EQ(epoch.not_shown + epoch.not_read, "");
        continue;
      }
      EXPECT_EQ(epoch.not_shown,
                PathOf(FirstAbsent(shown, [](auto& p) { return p.sample; })));
      EXPECT_EQ(epoch.not_read,
                PathOf(FirstAbsent(shown, [](auto& p) { return p.name; })));
    }
  }
}

// A dataset of which a batch is a small part.
class VerifyQualityTest : public testing_support::VerifyFixture {
 protected:
  static constexpr uint64_t kClasses = 8;
  static constexpr uint64_t kClass = 160;
  static constexpr uint64_t kAll = kClasses * kClass;

  VerifyQualityTest() : VerifyFixture(kClasses, kClass), rng_(RandomKey(9)) {}

  void Epoch(Ledger& ledger, const Pairs& pairs) {
    ASSERT_TRUE(ledger.BeginEpoch(Reactive(epochs_++)).ok());
    Consume(ledger, pairs);
  }
  Pairs Shuffled() { return RandomPairs({kClasses, kClass}, rng_); }

  Rng rng_;
  uint64_t epochs_ = 0;
};

Pairs Sorted(Pairs pairs) {
  std::sort(pairs.begin(), pairs.end(),
            [](auto& a, auto& b) { return a.sample < b.sample; });
  return pairs;
}

TEST_F(VerifyQualityTest, TheOrderOfReadingIsMeasured) {
  {
    const auto ledger = Open();
    Pairs pairs = Shuffled();
    Epoch(*ledger, pairs);
    Epoch(*ledger, Shuffled());
    Epoch(*ledger, Sorted(Shuffled()));
    Epoch(*ledger, Sorted(Shuffled()));
    pairs.resize(2 * 256 - 1);  // too little to say
    Epoch(*ledger, pairs);
    Epoch(*ledger, Shuffled());
    pairs = Shuffled();
    pairs.resize(2 * 256);
    Epoch(*ledger, pairs);
  }
  for (const bool compacted : {false, true}) {
    SCOPED_TRACE(compacted);
    if (compacted) {
      ASSERT_TRUE(Open()->Compact().ok());
    }
    const std::vector<EpochProof> epochs = Proof().epochs;
    ASSERT_EQ(epochs.size(), 7u);
    std::string grades;
    for (const EpochProof& epoch : epochs) {
      EXPECT_TRUE(epoch.bijection.ok()) << epoch.bijection;
      grades += epoch.quality ? epoch.quality->grade : '-';
    }
    EXPECT_EQ(grades, "AAFF-AA");
    EXPECT_FALSE(epochs[0].quality_compared);
    EXPECT_FALSE(epochs[0].quality->repeated);
    EXPECT_TRUE(epochs[1].quality_compared);
    EXPECT_LT(epochs[1].quality->repeated->value, 0.01);
    EXPECT_NEAR(epochs[1].quality->neighbour_distance.value, (kAll + 1) / 3.0,
                30);
    EXPECT_EQ(epochs[2].quality->neighbour_distance.value, 1);
    EXPECT_LT(epochs[2].quality->label_entropy->value, 1.6);
    EXPECT_GT(epochs[2].quality->label_entropy->uniform, 2.9);
    EXPECT_EQ(epochs[3].quality->repeated->value, 1);
    EXPECT_GT(epochs[3].quality->together_twice->value, 0.99);
    EXPECT_FALSE(epochs[5].quality_compared) << "with nothing measured";
    EXPECT_EQ(epochs[6].quality->samples, 2u * 256);
    EXPECT_TRUE(epochs[6].quality_compared);
  }
}

TEST_F(VerifyQualityTest, WhatEpochsHaveInCommonIsMeasured) {
  {
    const auto ledger = Open();
    for (int i = 0; i < 8; ++i) Epoch(*ledger, Shuffled());
  }
  const EpochMemory memory = Proof().memory.at("");
  for (size_t i = 0; i < EpochMemory::kEpochs; ++i) {
    const EpochMemory::Figures& figures = memory.before[i];
    EXPECT_EQ(figures.pairs, 7 - i);
    EXPECT_LT(std::abs(figures.correlation.value),
              4 * figures.correlation.error);
    EXPECT_LT(figures.correlation.error, 0.02);
  }
}

TEST_F(VerifyQualityTest, EpochsInOneOrderHaveItAll) {
  {
    const auto ledger = Open();
    const Pairs pairs = Shuffled();
    Epoch(*ledger, pairs);
    Epoch(*ledger, pairs);
    // Too little to say: what comes next follows nothing.
    Epoch(*ledger, {pairs.begin(), pairs.begin() + 9});
    Epoch(*ledger, Shuffled());
  }
  const EpochMemory memory = Proof().memory.at("");
  EXPECT_EQ(memory.before[0].pairs, 1);
  EXPECT_NEAR(memory.before[0].correlation.value, 1, 1e-9);
  EXPECT_EQ(memory.before[0].neighbours.value, 1);
  EXPECT_EQ(memory.before[1].pairs, 0);
}

// A plan that is held is one order, not two alike.
TEST_F(VerifyQualityTest, AHeldPlanHasNothingInCommonWithItself) {
  {
    const auto ledger = Open();
    ASSERT_TRUE(ledger->BeginEpoch(Record(2)).ok());
    ASSERT_TRUE(ledger->Hold({0, shufflefs::Epoch(3), 'c', ""}).ok());
    EXPECT_TRUE(Proof().memory.empty());
    ASSERT_TRUE(ledger->BeginEpoch(Record(4)).ok());
  }
  const EpochMemory memory = Proof().memory.at("");
  EXPECT_EQ(memory.before[0].pairs, 1);
  EXPECT_LT(std::abs(memory.before[0].correlation.value), 0.1);
}

// Each pass that is held is another order of reading; a plan stays the same.
TEST_F(VerifyQualityTest, HeldEpochsAreMeasured) {
  {
    const auto ledger = Open();
    Pairs pairs = Shuffled();
    Epoch(*ledger, pairs);
    ASSERT_TRUE(ledger->Hold({0, shufflefs::Epoch(1), 'c', ""}).ok());
    Consume(*ledger, Sorted(pairs));
    ASSERT_TRUE(ledger->BeginEpoch(Record(2)).ok());
    ASSERT_TRUE(ledger->Hold({0, shufflefs::Epoch(3), 'c', ""}).ok());
    ASSERT_TRUE(ledger->BeginEpoch(Record(4)).ok());
  }
  const std::vector<EpochProof> epochs = Proof().epochs;
  ASSERT_EQ(epochs.size(), 5u);
  EXPECT_EQ(epochs[0].quality->grade, 'A');
  EXPECT_EQ(epochs[1].quality->grade, 'F');
  EXPECT_TRUE(epochs[1].quality_compared);
  for (size_t plan : {2, 3, 4}) {
    ASSERT_TRUE(epochs[plan].quality) << plan;
    EXPECT_EQ(epochs[plan].quality->grade, 'A')
        << plan << ": " << epochs[plan].quality->reason;
    EXPECT_EQ(epochs[plan].quality->samples, kAll);
    EXPECT_EQ(epochs[plan].quality_compared, plan == 4)
        << "2 follows what was read, 3 is the plan of 2";
  }
}

}  // namespace
}  // namespace shufflefs
