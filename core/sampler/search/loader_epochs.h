// SPDX-License-Identifier: Apache-2.0
// What a DataLoader draws at the start of an epoch, and so what the next
// epochs will be. A new iterator draws a seed for its workers (two outputs),
// with 0 workers too; persistent workers keep theirs. Then
// * RandomSampler draws the seed of a generator of its own from the default
//   generator (two outputs): seeds of consecutive epochs are outputs of one
//   mt19937 at a fixed distance, while nothing else draws from it;
// * if the loader was given a generator, both draw from that one, and the
//   sampler takes its permutation from it directly;
// * torchdata's StatefulDataLoader has a generator that one seed of the default
//   generator was drawn for, or the one it was given, and takes all epochs from
//   it. An iterator takes its permutation before the seed of its workers, and
//   if there are workers takes another one, which is the epoch's.
// A seed tells only the half of an output pair, hence by itself not the state
// of the generator, but where it may stand (generator_search.h).
//
// Pure; plain values.
#ifndef SHUFFLEFS_CORE_SAMPLER_SEARCH_LOADER_EPOCHS_H_
#define SHUFFLEFS_CORE_SAMPLER_SEARCH_LOADER_EPOCHS_H_

#include <cstdint>
#include <vector>

#include "core/sampler/search/torch_random.h"

namespace shufflefs {

// What users, examples and frameworks seed generators with.
const std::vector<uint64_t>& KnownGeneratorSeeds();

// Consecutive epochs of one DataLoader(shuffle=True).
class LoaderEpochs {
 public:
  struct Options {
    uint64_t seed = 0;            // of the generator
    uint64_t outputs_before = 0;  // that something else took from it
    bool persistent_workers = false;
    bool own_generator = false;  // DataLoader(generator=…)
    bool stateful = false;       // torchdata's StatefulDataLoader, as of 0.11
    bool workers = true;         // matters only there
  };

  explicit LoaderEpochs(const Options& options);

  // The order of the next epoch over n samples, read to its end. REQUIRES:
  // n >= 1.
  std::vector<uint32_t> NextOrder(uint32_t n);

  // The low half of the seed of the next epoch's permutation, instead of its
  // order. REQUIRES: no own_generator, not stateful.
  uint32_t NextSeed();

 private:
  void DrawWorkerSeed();
  std::vector<uint32_t> NextStatefulOrder(uint32_t n);

  const Options options_;
  bool begun_ = false;
  TorchGenerator generator_;
};

// Seeds of permutations that a default generator draws soon after it was
// seeded: its first outputs but one. Each may be that of the first epochs if
// nothing (or a little) was drawn before.
std::vector<uint32_t> EarlyEpochSeeds(uint64_t generator_seed,
                                      uint32_t outputs);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_SEARCH_LOADER_EPOCHS_H_
