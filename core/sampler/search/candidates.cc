// SPDX-License-Identifier: Apache-2.0
#include "core/sampler/search/candidates.h"

#include "absl/container/flat_hash_set.h"
#include "core/sampler/search/generator_seeds.h"

namespace shufflefs {
namespace {

constexpr uint64_t kSmallSeed = 10000;
constexpr uint64_t kEpochsOfLargeSeeds = 300;
constexpr uint32_t kEarlyOutputs = 64;
constexpr uint64_t kWorkerSeedOutputs = 2;

// Sums of small seeds overlap, so there are few sums for all their epochs. Each
// large seed has sums of its own.
std::vector<CandidateOrder> DistributedCandidates(
    const CandidateOptions& options) {
  struct Span {
    uint64_t seed;
    uint64_t epochs;
  };
  std::vector<Span> spans;
  for (const uint64_t seed : options.seeds) {
    spans.push_back({seed, options.epochs});
  }
  for (const uint64_t seed : KnownGeneratorSeeds()) {
    const bool small = seed <= kSmallSeed;
    spans.push_back({seed, small ? options.epochs : kEpochsOfLargeSeeds});
  }
  std::vector<CandidateOrder> out;
  // Most sums are small, and most of these were seen before.
  std::vector<bool> seen_small(kSmallSeed + options.epochs + 1);
  absl::flat_hash_set<uint64_t> seen;
  for (uint64_t epoch = 0; epoch <= options.epochs; ++epoch) {
    for (const Span& span : spans) {
      if (epoch > span.epochs) continue;
      const uint64_t sum = span.seed + epoch;
      if (sum >= seen_small.size()) {
        if (!seen.insert(sum).second) continue;
      } else {
        if (seen_small[sum]) continue;
        seen_small[sum] = true;
      }
      out.push_back({SamplerKind::kDistributed, sum, 0});
    }
  }
  return out;
}

// Appends candidates that are one or several epochs further on. An epoch takes
// one of the `distances`, in outputs.
void Append(const CandidateOrder& last, const std::vector<uint64_t>& distances,
            uint64_t epochs, std::vector<CandidateOrder>& out) {
  for (uint64_t times = 1; times <= epochs; ++times) {
    for (const uint64_t distance : distances) {
      out.push_back({last.kind, last.seed,
                     last.outputs_before + times * distance});
    }
  }
}

}  // namespace

std::vector<uint32_t> CandidateOrder::Permutation(uint32_t n) const {
  TorchGenerator generator(seed);
  generator.Discard(outputs_before);
  return TorchRandperm(n, generator);
}

std::vector<CandidateOrder> UsualCandidates(const CandidateOptions& options) {
  std::vector<CandidateOrder> out = DistributedCandidates(options);
  std::vector<uint64_t> seeds = options.seeds;
  seeds.insert(seeds.end(), KnownGeneratorSeeds().begin(),
               KnownGeneratorSeeds().end());
  std::vector<std::vector<uint32_t>> early;
  for (const uint64_t seed : seeds) {
    out.push_back({SamplerKind::kOwnGenerator, seed, kWorkerSeedOutputs});
    early.push_back(EarlyEpochSeeds(seed, kEarlyOutputs));
  }
  for (uint32_t i = 0; i + 1 < kEarlyOutputs; ++i) {
    for (const std::vector<uint32_t>& drawn : early) {
      out.push_back({SamplerKind::kRandom, drawn[i], 0});
    }
  }
  return out;
}

CandidateOrder FirstStateful(const CandidateOrder& drawn, uint32_t n) {
  return {SamplerKind::kStateful, drawn.seed, drawn.outputs_before + n - 1};
}

std::vector<CandidateOrder> NextCandidates(const CandidateOrder& last,
                                           uint32_t n, uint64_t epochs) {
  std::vector<CandidateOrder> out = {last};
  const uint64_t permutation = uint64_t{n} - 1;  // outputs that it takes
  // A search may also find a DistributedSampler's seed.
  if (last.kind == SamplerKind::kDistributed ||
      last.kind == SamplerKind::kRandom) {
    for (uint64_t epochs = 1; epochs <= 3; ++epochs) {
      out.push_back({SamplerKind::kDistributed, last.seed + epochs, 0});
    }
  }
  if (last.kind == SamplerKind::kOwnGenerator) {
    // An epoch draws its permutation, and another one for an empty remainder.
    // Persistent workers keep their seed.
    Append(last, {2 * permutation + kWorkerSeedOutputs, 2 * permutation},
           epochs, out);
  } else if (last.kind == SamplerKind::kStateful) {
    // New workers cost another permutation. If the loader was given a
    // generator, this generator also draws their seed.
    Append(last,
           {2 * permutation, permutation, 2 * permutation + kWorkerSeedOutputs,
            permutation + kWorkerSeedOutputs},
           epochs, out);
  } else if (last.kind != SamplerKind::kListed && last.outputs_before == 0) {
    // A StatefulDataLoader without workers.
    CandidateOrder first = last;
    first.kind = SamplerKind::kStateful;
    Append(first, {permutation, permutation + kWorkerSeedOutputs}, epochs, out);
  }
  return out;
}

}  // namespace shufflefs
