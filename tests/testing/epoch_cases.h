// SPDX-License-Identifier: Apache-2.0
// The jobs that the epoch detector must handle: every row of the table in the
// study from which it was designed, as a generator of (names, seed).
#ifndef SHUFFLEFS_TESTS_TESTING_EPOCH_CASES_H_
#define SHUFFLEFS_TESTS_TESTING_EPOCH_CASES_H_

#include <string>
#include <utility>
#include <vector>

#include "tests/testing/epoch_model.h"
#include "tests/testing/epoch_streams.h"

namespace shufflefs::testing_support {

inline constexpr int kPasses = 6;
inline constexpr int64_t kSecond = 1000000;

inline uint64_t PassSeed(uint64_t seed, int pass) {
  return Mix64(seed) + static_cast<uint64_t>(pass);
}

// The order in which a job's sampler gives all names. A job that leaves the
// shuffle to us has one order for all passes.
inline std::vector<uint64_t> SamplerOrder(uint64_t names,
                                          const LoaderOptions& options,
                                          int pass) {
  return RandomOrder(names,
                     PassSeed(options.seed, options.fixed_order ? 0 : pass));
}

// One process, perhaps with workers.
inline Stream OneJob(uint64_t names, LoaderOptions options,
                     int passes = kPasses) {
  LoaderSim sim(options, 1);
  for (int pass = 0; pass < passes; ++pass) {
    sim.Run({SamplerOrder(names, options, pass)}, pass);
  }
  return sim.Take();
}

// `local` of `world` ranks run on this node.
inline Stream Ranks(uint64_t names, uint64_t world, uint64_t local,
                    LoaderOptions options) {
  if (options.workers == 0) options.workers = 2;
  LoaderSim sim(options, local);
  for (int pass = 0; pass < kPasses; ++pass) {
    sim.Run(Distribute(SamplerOrder(names, options, pass), world, local,
                       options.drop_last),
            pass);
  }
  return sim.Take();
}

inline LoaderOptions Workers(uint64_t workers, uint64_t seed) {
  LoaderOptions options;
  options.workers = workers;
  options.seed = seed;
  return options;
}

// A time in the middle of the job's third pass.
inline int64_t MidEpoch(const Stream& stream) {
  return stream[stream.size() * 5 / 12].time;
}

// cp -r over everything. `halted`: the job waits until the copy is done.
inline Stream WithCopy(uint64_t names, uint64_t seed, bool halted) {
  Stream job = OneJob(names, Workers(4, seed));
  const int64_t begin = MidEpoch(job) + 1;
  const int64_t open_us = 40;
  const Stream copy = Scan(SortedOrder(names), begin, open_us, 2, 50000, 1);
  if (halted) {
    for (StreamOpen& open : job) {
      if (open.time >= begin) {
        open.time += static_cast<int64_t>(names) * open_us + kSecond;
      }
    }
  }
  return Merge(std::move(job), copy);
}

inline Stream WithPreview(uint64_t names, uint64_t seed) {
  Stream job = OneJob(names, Workers(4, seed));
  std::vector<uint64_t> some = RandomOrder(names, seed + 99);
  some.resize(names / 20);
  const int64_t begin = MidEpoch(job) + 1;
  return Merge(std::move(job), Scan(some, begin, 100, 2, 50000, 1));
}

// A job that stops after a quarter of its batches, twelve times.
inline Stream BrokenOff(uint64_t names, uint64_t seed, bool persistent) {
  LoaderOptions options = Workers(4, seed);
  options.persistent = persistent;
  options.stop_after = (names / options.batch + 1) / 4;
  return OneJob(names, options, 2 * kPasses);
}

inline Stream SanityCheck(uint64_t names, uint64_t seed) {
  const LoaderOptions options = Workers(2, seed);
  LoaderSim sim(options, 1);
  std::vector<uint64_t> first = SortedOrder(names);
  first.resize(2 * options.batch);
  sim.Run({first}, 0);
  for (int pass = 1; pass <= kPasses; ++pass) {
    sim.Run({RandomOrder(names, PassSeed(seed, pass))}, pass);
  }
  return sim.Take();
}

// After each pass, an evaluation over the first `part` names in fixed order.
inline Stream WithEvaluation(uint64_t names, uint64_t seed, uint64_t part) {
  LoaderSim sim(Workers(2, seed), 1);
  std::vector<uint64_t> fixed = SortedOrder(names);
  fixed.resize(part);
  for (int pass = 0; pass < kPasses; ++pass) {
    sim.Run({RandomOrder(names, PassSeed(seed, pass))}, 2 * pass);
    sim.Run({fixed}, 2 * pass + 1);
  }
  return sim.Take();
}

inline Stream TwoJobs(uint64_t names, uint64_t seed) {
  LoaderOptions other = Workers(2, seed + 1000);
  other.family = 2;
  other.first_pid = 60000;
  other.job = 1;
  other.open_us = 1700;
  return Merge(OneJob(names, Workers(2, seed)), OneJob(names, other));
}

// A job is killed in the middle of its second pass, and another one starts.
inline Stream KilledJob(uint64_t names, uint64_t seed) {
  Stream first = OneJob(names, Workers(4, seed), 2);
  first.resize(names + names / 2);
  LoaderOptions options = Workers(4, seed + 1000);
  options.family = 2;
  options.first_pid = 60000;
  options.job = 1;
  Stream second = OneJob(names, options, 2);
  for (StreamOpen& open : second) open.time += first.back().time + 5 * kSecond;
  return Merge(std::move(first), second);
}

inline Stream Weighted(uint64_t names, uint64_t seed) {
  LoaderSim sim(Workers(2, seed), 1);
  Rng rng(RandomKey(Mix64(seed + 3)));
  for (int pass = 0; pass < kPasses; ++pass) {
    std::vector<uint64_t> draws(names);
    for (uint64_t& name : draws) name = rng.Bounded(names);
    sim.Run({draws}, pass);
  }
  return sim.Take();
}

inline Stream SortedReader(uint64_t names, uint64_t seed) {
  LoaderSim sim(Workers(0, seed), 1);
  for (int pass = 0; pass < kPasses; ++pass) {
    sim.Run({SortedOrder(names)}, pass);
  }
  return sim.Take();
}

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_TESTING_EPOCH_CASES_H_
