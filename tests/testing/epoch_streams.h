// SPDX-License-Identifier: Apache-2.0
// Synthetic streams of opens that behave like recorded PyTorch DataLoaders.
// Batches are dealt to the workers in turn. Two batches per worker are
// requested ahead, but none across epochs. Opens of workers interleave. Ranks
// in lock step wait for each other at every step. Uses integer time in
// microseconds and the project's own random numbers, so the same seed gives the
// same stream everywhere.
#ifndef SHUFFLEFS_TESTS_TESTING_EPOCH_STREAMS_H_
#define SHUFFLEFS_TESTS_TESTING_EPOCH_STREAMS_H_

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "core/random/permutation.h"
#include "core/random/random.h"

namespace shufflefs::testing_support {

struct StreamOpen {
  int64_t time = 0;  // microseconds
  uint64_t name = 0;
  uint32_t reader = 0;  // pid
  uint64_t family = 0;
  int job = 0;   // the job whose pass it is
  int pass = 0;  // true epoch of that job
};
using Stream = std::vector<StreamOpen>;

// Sorts by time. Opens at the same time keep their order.
inline void SortByTime(Stream& stream) {
  std::stable_sort(
      stream.begin(), stream.end(),
      [](const StreamOpen& a, const StreamOpen& b) { return a.time < b.time; });
}

inline std::vector<uint64_t> RandomOrder(uint64_t names, uint64_t key) {
  const Permutation permutation(names, RandomKey(Mix64(key)));
  std::vector<uint64_t> order(names);
  for (uint64_t i = 0; i < names; ++i) order[i] = permutation(i);
  return order;
}

inline std::vector<uint64_t> SortedOrder(uint64_t names) {
  std::vector<uint64_t> order(names);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// One pass of a job: the names of each local rank, in the rank's order.
using OnePass = std::vector<std::vector<uint64_t>>;

// The shares that DistributedSampler gives the local ranks [0, local) of
// `world`.
inline OnePass Distribute(std::vector<uint64_t> order, uint64_t world,
                          uint64_t local, bool drop_last) {
  const uint64_t names = order.size();
  const uint64_t share =
      drop_last ? names / world : (names + world - 1) / world;
  for (uint64_t i = 0; order.size() < share * world; ++i) {
    order.push_back(order[i % names]);
  }
  order.resize(share * world);
  OnePass pass(local);
  for (uint64_t i = 0; i < order.size(); ++i) {
    if (i % world < local) pass[i % world].push_back(order[i]);
  }
  return pass;
}

struct LoaderOptions {
  uint64_t batch = 16;
  uint64_t workers = 0;
  bool persistent = false;
  bool drop_last = false;    // drops an incomplete last batch
  bool fixed_order = false;  // in all passes
  int opens_each = 1;        // 2: cv2.imread
  int64_t max_drift = 0;     // maximum batches between ranks; < 0: no lock step
  uint64_t stop_after = 0;   // batches consumed, then break; 0 = all
  int64_t open_us = 1500;    // time of one open and decode
  int64_t step_us = 4000;    // time of a training step per batch
  std::vector<int> speed = {};  // per cent of open and step time, by rank
  uint64_t family = 1;
  uint32_t first_pid = 1000;
  int job = 0;
  uint64_t seed = 1;
};

// Runs one job's DataLoaders over its passes and records their opens.
class LoaderSim {
 public:
  LoaderSim(LoaderOptions options, uint64_t ranks)
      : options_(std::move(options)),
        rng_(RandomKey(Mix64(options_.seed * 77 + 5))),
        next_pid_(options_.first_pid),
        ranks_(ranks) {
    for (Rank& rank : ranks_) {
      rank.main_pid = next_pid_++;
      StartWorkers(rank);
    }
  }

  // Makes the opens of one pass. `number` is its true epoch.
  void Run(const OnePass& pass, int number) {
    pass_ = number;
    std::vector<std::vector<std::vector<uint64_t>>> batches;
    uint64_t steps = 0;
    for (const auto& names : pass) {
      batches.push_back(Batches(names));
      steps = std::max<uint64_t>(steps, batches.back().size());
    }
    if (options_.stop_after > 0) steps = std::min(steps, options_.stop_after);
    if (options_.max_drift >= 0) AlignRanks();
    for (uint64_t r = 0; r < ranks_.size(); ++r) {
      if (!options_.persistent) StartWorkers(ranks_[r]);
      ranks_[r].dispatched = 0;
      Dispatch(r, batches[r], 2 * options_.workers);
    }
    const uint64_t before = finished_.size();
    finished_.resize(before + steps);
    if (options_.max_drift < 0) {
      for (uint64_t r = 0; r < ranks_.size(); ++r) {
        for (uint64_t step = 0; step < steps; ++step) {
          Step(r, before, step, batches[r]);
        }
      }
    } else {
      for (uint64_t step = 0; step < steps; ++step) {
        for (uint64_t r = 0; r < ranks_.size(); ++r) {
          Step(r, before, step, batches[r]);
        }
      }
    }
    if (!options_.persistent && options_.stop_after > 0) KillWorkers();
  }

  // The job does something else for a while.
  void Pause(int64_t us) {
    for (Rank& rank : ranks_) rank.clock += us;
  }
  int64_t now() const { return ranks_.front().clock; }

  Stream Take() {
    SortByTime(opens_);
    return std::move(opens_);
  }

 private:
  struct Worker {
    uint32_t pid = 0;
    int64_t free = 0;
  };
  struct Rank {
    uint32_t main_pid = 0;
    int64_t clock = 0;
    uint64_t dispatched = 0;  // batches of this pass
    std::vector<Worker> workers;
    std::vector<int64_t> ready;  // when batch i was loaded
  };

  void StartWorkers(Rank& rank) {
    rank.workers.resize(options_.workers);
    for (Worker& worker : rank.workers) {
      worker.pid = next_pid_++;
      worker.free = rank.clock + 30000 + Jitter(20000);
    }
  }

  // Ends the workers of a pass that was broken off, with work left.
  void KillWorkers() {
    std::erase_if(opens_, [this](const StreamOpen& open) {
      return open.pass == pass_ && open.time > ranks_.front().clock;
    });
  }

  // No rank begins a pass more than max_drift ahead of the others.
  void AlignRanks() {
    const auto drift = static_cast<uint64_t>(options_.max_drift);
    if (finished_.size() <= drift) return;
    const int64_t floor = finished_[finished_.size() - 1 - drift];
    for (Rank& rank : ranks_) rank.clock = std::max(rank.clock, floor);
  }

  std::vector<std::vector<uint64_t>> Batches(
      const std::vector<uint64_t>& names) const {
    std::vector<std::vector<uint64_t>> batches;
    for (uint64_t i = 0; i < names.size(); i += options_.batch) {
      const uint64_t end = std::min<uint64_t>(i + options_.batch, names.size());
      if (options_.drop_last && end - i < options_.batch) break;
      batches.emplace_back(names.begin() + static_cast<std::ptrdiff_t>(i),
                           names.begin() + static_cast<std::ptrdiff_t>(end));
    }
    return batches;
  }

  int64_t Jitter(int64_t range) {
    return static_cast<int64_t>(rng_.Bounded(static_cast<uint64_t>(range)));
  }
  int64_t Scaled(uint64_t rank, int64_t us) const {
    return options_.speed.empty()
               ? us
               : us * 100 / options_.speed[rank % options_.speed.size()];
  }

  // Opens a batch from `begin` on. Returns when it is loaded.
  int64_t Load(uint64_t r, uint32_t pid, int64_t begin,
               const std::vector<uint64_t>& batch) {
    for (uint64_t name : batch) {
      const int64_t took = Scaled(r, options_.open_us) / 2 +
                           Jitter(Scaled(r, options_.open_us) + 1);
      for (int i = 0; i < options_.opens_each; ++i) {
        opens_.push_back(
            {begin + i, name, pid, options_.family, options_.job, pass_});
      }
      begin += took + options_.opens_each;
    }
    return begin;
  }

  // Gives batches below `limit` to the workers.
  void Dispatch(uint64_t r, const std::vector<std::vector<uint64_t>>& batches,
                uint64_t limit) {
    Rank& rank = ranks_[r];
    rank.ready.resize(batches.size());
    for (; rank.dispatched < std::min<uint64_t>(limit, batches.size());
         ++rank.dispatched) {
      Worker& worker = rank.workers[rank.dispatched % options_.workers];
      const int64_t begin = std::max(worker.free, rank.clock);
      worker.free = rank.ready[rank.dispatched] =
          Load(r, worker.pid, begin, batches[rank.dispatched]);
    }
  }

  // Makes step `step` of a pass, which `before` steps of earlier passes
  // precede.
  void Step(uint64_t r, uint64_t before, uint64_t step,
            const std::vector<std::vector<uint64_t>>& batches) {
    Rank& rank = ranks_[r];
    if (step >= batches.size()) return;
    const auto drift = static_cast<uint64_t>(options_.max_drift);
    if (options_.max_drift >= 0 && before + step > drift) {
      rank.clock = std::max(rank.clock, finished_[before + step - drift - 1]);
    }
    if (options_.workers == 0) {
      rank.clock = Load(r, rank.main_pid, rank.clock, batches[step]);
    } else {
      rank.clock = std::max(rank.clock, rank.ready[step]);
      Dispatch(r, batches, step + 1 + 2 * options_.workers);
    }
    rank.clock +=
        Scaled(r, options_.step_us) / 2 + Jitter(Scaled(r, options_.step_us));
    finished_[before + step] = std::max(finished_[before + step], rank.clock);
  }

  const LoaderOptions options_;
  Rng rng_;
  uint32_t next_pid_;
  std::vector<Rank> ranks_;
  std::vector<int64_t> finished_;  // when the last rank ended each step
  int pass_ = 0;
  Stream opens_;
};

// A program that opens names one after the other: cp -r, a preview.
inline Stream Scan(const std::vector<uint64_t>& names, int64_t begin,
                   int64_t open_us, uint64_t family, uint32_t pid, int job) {
  Stream stream;
  for (uint64_t name : names) {
    stream.push_back({begin, name, pid, family, job, 0});
    begin += open_us;
  }
  return stream;
}

inline Stream Merge(Stream a, const Stream& b) {
  a.insert(a.end(), b.begin(), b.end());
  SortByTime(a);
  return a;
}

// The same opens as seen by a daemon that cannot see the pids.
inline Stream Hide(Stream stream) {
  for (StreamOpen& open : stream) open.family = open.reader = 0;
  return stream;
}

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_TESTING_EPOCH_STREAMS_H_
