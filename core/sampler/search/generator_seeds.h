// SPDX-License-Identifier: Apache-2.0
// Guesses for the seeds of PyTorch's generators: which a user gives to one, and
// which an epoch then takes from it. At the start of an epoch a DataLoader
// draws a seed for its workers (two outputs), even with 0 workers. Persistent
// workers keep their seed. Then
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
// Pure functions.
#ifndef SHUFFLEFS_CORE_SAMPLER_SEARCH_GENERATOR_SEEDS_H_
#define SHUFFLEFS_CORE_SAMPLER_SEARCH_GENERATOR_SEEDS_H_

#include <cstdint>
#include <vector>

namespace shufflefs {

// The seeds that users, examples and frameworks give to generators.
const std::vector<uint64_t>& KnownGeneratorSeeds();

// Returns the permutation seeds that a default generator may draw soon after it
// was seeded: its first outputs except the very first. Each may be the seed of
// a first epoch if little or nothing was drawn before.
std::vector<uint32_t> EarlyEpochSeeds(uint64_t generator_seed,
                                      uint32_t outputs);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_SEARCH_GENERATOR_SEEDS_H_
