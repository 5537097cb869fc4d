// SPDX-License-Identifier: Apache-2.0
// LoaderEpochs computes what a DataLoader draws at the start of an epoch, and
// so all later epochs. A new iterator draws a seed for its workers (two
// outputs), even with 0 workers. Persistent workers keep their seed. Then
// * RandomSampler draws the seed of its own generator from the default
//   generator (two outputs). So seeds of consecutive epochs are outputs of one
//   mt19937 at a fixed distance, while nothing else draws from it.
// * If the loader was given a generator, both draw from that one. The sampler
//   draws its permutation from it directly.
// * StatefulDataLoader of torchdata draws all epochs from one generator: the
//   one it was given, or one seeded from the default generator. An iterator
//   draws its permutation before the seed of its workers. If there are workers,
//   it draws another permutation, which is the epoch's.
// One seed is only half of an output pair. It does not determine the state of
// the generator by itself, only where it may be (generator_search.h).
//
// Pure; plain values.
#ifndef SHUFFLEFS_CORE_SAMPLER_SEARCH_LOADER_EPOCHS_H_
#define SHUFFLEFS_CORE_SAMPLER_SEARCH_LOADER_EPOCHS_H_

#include <cstdint>
#include <vector>

#include "core/sampler/search/torch_random.h"

namespace shufflefs {

// The seeds that users, examples and frameworks give to generators.
const std::vector<uint64_t>& KnownGeneratorSeeds();

// Consecutive epochs of one DataLoader(shuffle=True).
class LoaderEpochs {
 public:
  struct Options {
    uint64_t seed = 0;            // of the generator
    uint64_t outputs_before = 0;  // drawn by something else before
    bool persistent_workers = false;
    bool own_generator = false;  // DataLoader(generator=…)
    bool stateful = false;       // torchdata's StatefulDataLoader, as of 0.11
    bool workers = true;         // matters only if stateful
  };

  explicit LoaderEpochs(const Options& options);

  // Returns the order of the next epoch over n samples, read to its end.
  // REQUIRES: n >= 1.
  std::vector<uint32_t> NextOrder(uint32_t n);

  // Returns the low half of the seed of the next epoch's permutation, instead
  // of its order. REQUIRES: no own_generator, not stateful.
  uint32_t NextSeed();

 private:
  void DrawWorkerSeed();
  std::vector<uint32_t> NextStatefulOrder(uint32_t n);

  const Options options_;
  bool begun_ = false;
  TorchGenerator generator_;
};

// Returns the permutation seeds that a default generator may draw soon after it
// was seeded: its first outputs except the very first. Each may be the seed of
// a first epoch if little or nothing was drawn before.
std::vector<uint32_t> EarlyEpochSeeds(uint64_t generator_seed,
                                      uint32_t outputs);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_SEARCH_LOADER_EPOCHS_H_
