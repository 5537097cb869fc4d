// SPDX-License-Identifier: Apache-2.0
// What a DataLoader draws at the start of an epoch, and so what the next
// epochs will be. A new iterator draws a seed for its workers (two outputs),
// with 0 workers too; persistent workers keep theirs. Then
// * RandomSampler draws the seed of a generator of its own from the default
//   generator (two outputs): seeds of consecutive epochs are outputs of one
//   mt19937 at a fixed distance, while nothing else draws from it;
// * if the loader was given a generator, both draw from that one, and the
//   sampler takes its permutation from it directly.
// A seed tells only the half of an output pair, hence by itself not the state
// of the generator. But users seed theirs with few numbers (0, 42, 1234, …):
// where the recovered seeds lie in the stream of one of these, all later ones
// follow.
//
// Pure; plain values.
#ifndef SHUFFLEFS_CORE_CLAIRVOYANT_LOADER_EPOCHS_H_
#define SHUFFLEFS_CORE_CLAIRVOYANT_LOADER_EPOCHS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/clairvoyant/torch_random.h"

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
  };

  explicit LoaderEpochs(const Options& options);

  // The order of the next epoch over n samples, read to its end. REQUIRES:
  // n >= 1.
  std::vector<uint32_t> NextOrder(uint32_t n);

  // The low half of the seed of the next epoch's permutation, instead of its
  // order. REQUIRES: no own_generator.
  uint32_t NextSeed();

 private:
  void DrawWorkerSeed();

  const Options options_;
  bool begun_ = false;
  TorchGenerator generator_;
};

// Seeds of permutations that a default generator draws soon after it was
// seeded: its first outputs but one. Each may be that of the first epochs if
// nothing (or a little) was drawn before.
std::vector<uint32_t> EarlyEpochSeeds(uint64_t generator_seed,
                                      uint32_t outputs);

// Where consecutive epochs stand in the stream of a default generator.
struct GeneratorTrace {
  uint64_t generator_seed = 0;
  uint64_t output = 0;    // which one, from 0, the last epoch's seed is
  uint64_t distance = 0;  // outputs from one epoch to the next

  // The seeds of the epochs to come, if they go on as they did.
  std::vector<uint32_t> NextSeeds(uint32_t epochs) const;

  friend bool operator==(const GeneratorTrace&,
                         const GeneratorTrace&) = default;
};

struct TraceLimits {
  uint64_t outputs = uint64_t{1} << 26;  // of each generator; some 0.1 s
  uint64_t distance = 1 << 16;           // between epochs
};

// Looks for the low halves of the seeds of at least two consecutive epochs in
// the stream of a generator seeded so. Two chance hits are one in 2^32 /
// (limits.outputs * limits.distance / 2^32) streams: with the defaults one in
// 2^22, and one more epoch makes it none.
std::optional<GeneratorTrace> TraceGenerator(
    uint64_t generator_seed, const std::vector<uint32_t>& epoch_seeds,
    const TraceLimits& limits = {});

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_CLAIRVOYANT_LOADER_EPOCHS_H_
