// SPDX-License-Identifier: Apache-2.0
// Splits that a client makes by name are suspected, whatever loads them;
// stock jobs over all names are not.
#include "core/epoch/split_suspicion.h"

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/testing/effort.h"
#include "tests/testing/epoch_cases.h"

namespace shufflefs {
namespace {

using testing_support::LoaderOptions;
using testing_support::LoaderSim;
using testing_support::OneJob;
using testing_support::PassSeed;
using testing_support::Ranks;
using testing_support::Rounds;
using testing_support::Stream;
using testing_support::StreamOpen;
using testing_support::Workers;

struct Verdicts {
  Suspicion first = Suspicion::kNone;
  int boundary = 0;  // at which it was raised, from 1
};

// Plays a stream through the detector and the suspicion, as a view does.
Verdicts Suspect(const Stream& stream, uint64_t names, uint32_t groups = 10,
                 uint64_t epoch_length = 0) {
  EpochDetector detector({.names = names, .epoch_length = epoch_length});
  SplitSuspicion suspicion({names, groups, epoch_length > 0});
  std::vector<size_t> last(256, 0);
  for (size_t i = 0; i < stream.size(); ++i) last[stream[i].job] = i;
  Verdicts verdicts;
  for (size_t i = 0; i < stream.size(); ++i) {
    const StreamOpen& open = stream[i];
    const EpochOutcome outcome =
        detector.OnOpen({open.name, JobId(open.job), open.reader,
                         std::chrono::milliseconds(open.time / 1000)},
                        [&](JobId job) { return last[job.value()] >= i; });
    if (outcome.open != OpenClass::kForeignJob &&
        outcome.open != OpenClass::kDouble) {
      suspicion.OnOpen({open.name,
                        static_cast<uint32_t>(open.name * groups / names),
                        open.reader, outcome.open == OpenClass::kFresh});
    }
    if (outcome.verdict == Verdict::kNone) continue;
    ++verdicts.boundary;
    verdicts.first = suspicion.AtBoundary(outcome.rule, outcome.ended_seen,
                                          detector.seen_count());
    if (verdicts.first != Suspicion::kNone) return verdicts;
  }
  return verdicts;
}

// Trains on a random part of the names and validates on the rest, by loaders
// of `train` and `validate` workers. `before`: batches validated first of all.
Stream SplitJob(uint64_t names, uint64_t seed, uint64_t validation,
                uint64_t workers, bool persistent, uint64_t before = 0,
                int passes = 6) {
  std::vector<uint64_t> order = testing_support::RandomOrder(names, seed + 7);
  std::vector<uint64_t> held_out(
      order.end() - static_cast<std::ptrdiff_t>(validation), order.end());
  order.resize(names - validation);
  LoaderOptions train = Workers(workers, seed);
  train.persistent = persistent;
  LoaderOptions validate = Workers(workers, seed + 1);
  validate.persistent = persistent;
  validate.first_pid = workers == 0 ? train.first_pid : 9000;
  LoaderSim train_sim(train, 1), validate_sim(validate, 1);
  if (before > 0) {
    std::vector<uint64_t> some = held_out;
    some.resize(before * validate.batch);
    validate_sim.Run({some}, 0);
  }
  for (int pass = 0; pass < passes; ++pass) {
    train_sim.Pause(std::max<int64_t>(0, validate_sim.now() - train_sim.now()));
    std::vector<uint64_t> shuffled;
    for (const uint64_t i :
         testing_support::RandomOrder(order.size(), PassSeed(seed, pass))) {
      shuffled.push_back(order[i]);
    }
    train_sim.Run({shuffled}, pass);
    validate_sim.Pause(
        std::max<int64_t>(0, train_sim.now() - validate_sim.now()));
    validate_sim.Run({held_out}, pass);
  }
  return testing_support::Merge(train_sim.Take(), validate_sim.Take());
}

struct StockJob {
  std::string name;
  std::function<Stream(uint64_t names, uint64_t seed)> generate;
};

std::vector<StockJob> StockJobs() {
  const auto loader = [](uint64_t workers, bool persistent, bool drop_last) {
    return [=](uint64_t names, uint64_t seed) {
      LoaderOptions options = Workers(workers, seed);
      options.persistent = persistent;
      options.drop_last = drop_last;
      options.batch = 16;
      return OneJob(names, options);
    };
  };
  const auto ranks = [](uint64_t world) {
    return [=](uint64_t names, uint64_t seed) {
      return Ranks(names, world, world, Workers(2, seed));
    };
  };
  return {{"no workers", loader(0, false, false)},
          {"two workers", loader(2, false, false)},
          {"four workers", loader(4, false, false)},
          {"persistent workers", loader(4, true, false)},
          {"drop_last", loader(4, false, true)},
          {"drop_last, no workers", loader(0, false, true)},
          {"two ranks", ranks(2)},
          {"seven ranks", ranks(7)},
          {"eight ranks", ranks(8)},
          {"sorted", testing_support::SortedReader},
          {"a full evaluation pass each",
           [](uint64_t names, uint64_t seed) {
             return testing_support::WithEvaluation(names, seed, names);
           }},
          {"preview", testing_support::WithPreview},
          {"killed and started again", testing_support::KilledJob}};
}

TEST(SplitSuspicionTest, StockJobsRaiseNothing) {
  for (const StockJob& job : StockJobs()) {
    for (const uint64_t names : {1000, 3000}) {
      for (uint64_t seed = 1; seed <= Rounds<uint64_t>(4); ++seed) {
        const Verdicts verdicts = Suspect(job.generate(names, seed), names);
        EXPECT_EQ(verdicts.first, Suspicion::kNone)
            << job.name << ", " << names << " names, seed " << seed
            << ", boundary " << verdicts.boundary << ": "
            << SuspicionText(verdicts.first);
        EXPECT_GE(verdicts.boundary, 3) << job.name << " seed " << seed;
      }
    }
  }
}

TEST(SplitSuspicionTest, ValidationWorkersAfterTrainingWorkers) {
  for (const uint64_t names : {1000, 3000}) {
    for (const bool persistent : {false, true}) {
      for (const uint64_t percent : {5, 20, 50}) {
        for (uint64_t seed = 1; seed <= 3; ++seed) {
          const Verdicts verdicts = Suspect(
              SplitJob(names, seed, names * percent / 100, 2, persistent),
              names);
          EXPECT_EQ(verdicts.first, Suspicion::kDisjointReaders)
              << names << " names, " << percent << " %, persistent "
              << persistent << ", seed " << seed;
          EXPECT_EQ(verdicts.boundary, 1);
        }
      }
    }
  }
}

TEST(SplitSuspicionTest, SanityCheckBeforeASplitDoesNotHideIt) {
  const Verdicts verdicts =
      Suspect(SplitJob(3000, 1, 600, 2, false, /*before=*/5), 3000);
  EXPECT_EQ(verdicts.first, Suspicion::kDisjointReaders);
}

TEST(SplitSuspicionTest, OneProcessThatEndsInTheSameNames) {
  for (const uint64_t percent : {10, 20}) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      const Verdicts verdicts =
          Suspect(SplitJob(3000, seed, 3000 * percent / 100, 0, false), 3000);
      EXPECT_EQ(verdicts.first, Suspicion::kSameEnd)
          << percent << " %, seed " << seed;
      EXPECT_LE(verdicts.boundary, 4);
    }
  }
}

TEST(SplitSuspicionTest, NamesThatAreNeverOpened) {
  // Training alone; its validation part is not read at all.
  LoaderSim sim(Workers(2, 1), 1);
  std::vector<uint64_t> part = testing_support::RandomOrder(3000, 5);
  part.resize(2400);
  for (int pass = 0; pass < 3; ++pass) {
    std::vector<uint64_t> shuffled;
    for (const uint64_t i :
         testing_support::RandomOrder(part.size(), PassSeed(1, pass))) {
      shuffled.push_back(part[i]);
    }
    sim.Run({shuffled}, pass);
  }
  const Stream stream = sim.Take();
  const Verdicts verdicts = Suspect(stream, 3000);
  EXPECT_EQ(verdicts.first, Suspicion::kUnopened);
  EXPECT_EQ(verdicts.boundary, 1);
  // The same where the user says that a pass is as short as that.
  EXPECT_EQ(Suspect(stream, 3000, 10, 2400).first, Suspicion::kNone);
}

TEST(SplitSuspicionTest, DirectoriesOneAfterTheOtherAreNoSplit) {
  // A process a directory, each reading all of its own.
  SplitSuspicion suspicion({1000, 10, false});
  for (uint64_t name = 0; name < 1000; ++name) {
    const auto group = static_cast<uint32_t>(name / 100);
    suspicion.OnOpen({name, group, 500 + group, true});
  }
  EXPECT_EQ(suspicion.AtBoundary('a', 1000, 0), Suspicion::kNone);
}

TEST(SplitSuspicionTest, SecondReaderOfTheSameNamesIsNoSplit) {
  SplitSuspicion suspicion({1000, 1, false});
  const auto order = testing_support::RandomOrder(1000, 1);
  for (uint64_t i = 0; i < 500; ++i) suspicion.OnOpen({order[i], 0, 1, true});
  // By chance half of what it opens was open before.
  const auto other = testing_support::RandomOrder(1000, 2);
  std::vector<bool> open(1000, false);
  for (uint64_t i = 0; i < 500; ++i) open[order[i]] = true;
  for (const uint64_t name : other) {
    suspicion.OnOpen({name, 0, 2, !open[name]});
  }
  EXPECT_EQ(suspicion.AtBoundary('a', 1000, 0), Suspicion::kNone);
}

TEST(SplitSuspicionTest, TooManyReadersAreNotJudged) {
  SplitSuspicion suspicion({1000, 1, false});
  for (uint64_t name = 0; name < 1000; ++name) {
    suspicion.OnOpen({name, 0, static_cast<uint32_t>(name / 3), true});
  }
  EXPECT_EQ(suspicion.AtBoundary('a', 1000, 0), Suspicion::kNone);
}

TEST(SplitSuspicionTest, AKilledJobIsNoEvidence) {
  SplitSuspicion suspicion({1000, 1, false});
  for (uint64_t name = 0; name < 400; ++name) {
    suspicion.OnOpen({name, 0, 1, true});
  }
  EXPECT_EQ(suspicion.AtBoundary('t', 400, 1), Suspicion::kNone);
  EXPECT_EQ(suspicion.AtBoundary('s', 400, 0), Suspicion::kNone);
  EXPECT_EQ(suspicion.AtBoundary('s', 800, 0), Suspicion::kUnopened);
  EXPECT_EQ(suspicion.AtBoundary('c', 400, 0), Suspicion::kUnopened);
}

// What another program read is no part that the client keeps to itself.
TEST(SplitSuspicionTest, WhatForeignJobsOpenIsOpened) {
  for (const uint64_t by_foreign : {0, 175, 195}) {
    SplitSuspicion suspicion({1000, 1, false});
    for (uint64_t name = 0; name < by_foreign; ++name) {
      suspicion.OnForeignJob(799 + name, name == 0);
      suspicion.OnForeignJob(799 + name, name == 0);
    }
    for (uint64_t name = 0; name < 810; ++name) {
      suspicion.OnOpen({name, 0, 1, true});
    }
    // 800 to 809 were opened by both.
    EXPECT_EQ(suspicion.AtBoundary('b', 810, 0),
              by_foreign == 195 ? Suspicion::kNone : Suspicion::kUnopened)
        << by_foreign;
    EXPECT_EQ(suspicion.AtBoundary('b', 810, 0), Suspicion::kUnopened)
        << "of that epoch alone";
  }
}

// A foreign job that became the owner: its names count once.
TEST(SplitSuspicionTest, NamesThatBothCountAreNoMoreThanThereAre) {
  SplitSuspicion suspicion({1000, 1, false});
  for (uint64_t name = 0; name < 30; ++name)
    suspicion.OnForeignJob(name, false);
  EXPECT_EQ(suspicion.AtBoundary('a', 1000, 0), Suspicion::kNone);
}

TEST(SplitSuspicionTest, WatchesASampleOfManyNames) {
  constexpr uint64_t kNames = 3000000;
  SplitSuspicion suspicion({kNames, 1, false});
  Suspicion found = Suspicion::kNone;
  for (uint64_t epoch = 0; epoch < 3 && found == Suspicion::kNone; ++epoch) {
    // The last sixth of the names comes last in every epoch.
    constexpr uint64_t kTrain = kNames / 6 * 5;
    const Permutation train(kTrain, RandomKey(Mix64(epoch)));
    const Permutation mix(kNames, RandomKey(99));
    for (uint64_t i = 0; i < kNames; ++i) {
      suspicion.OnOpen({mix(i < kTrain ? train(i) : i), 0, 1, true});
    }
    found = suspicion.AtBoundary('a', kNames, 0);
  }
  EXPECT_EQ(found, Suspicion::kSameEnd);
}

}  // namespace
}  // namespace shufflefs
