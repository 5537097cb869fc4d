// SPDX-License-Identifier: Apache-2.0
#include "core/clairvoyant/candidates.h"

#include "absl/container/flat_hash_set.h"
#include "core/clairvoyant/loader_epochs.h"

namespace shufflefs {
namespace {

constexpr uint64_t kSmallSeed = 10000;
constexpr uint64_t kEpochsOfLargeSeeds = 300;
constexpr uint32_t kEarlyOutputs = 64;
constexpr uint64_t kWorkerSeedOutputs = 2;

// Small seeds overlap, so that all epochs of theirs are few sums; of the large
// ones each has sums of its own.
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
  // Most sums are small, and most of those have been seen.
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
  for (const uint64_t seed : seeds) {
    out.push_back({SamplerKind::kOwnGenerator, seed, kWorkerSeedOutputs});
    for (const uint32_t early : EarlyEpochSeeds(seed, kEarlyOutputs)) {
      out.push_back({SamplerKind::kRandom, early, 0});
    }
  }
  return out;
}

std::vector<CandidateOrder> NextCandidates(const CandidateOrder& last,
                                           uint32_t n) {
  std::vector<CandidateOrder> out = {last};
  // What a search found may be a DistributedSampler's, too.
  if (last.kind == SamplerKind::kDistributed ||
      last.kind == SamplerKind::kRandom) {
    for (uint64_t epochs = 1; epochs <= 3; ++epochs) {
      out.push_back({SamplerKind::kDistributed, last.seed + epochs, 0});
    }
  }
  if (last.kind == SamplerKind::kOwnGenerator) {
    // The permutation and the one that is drawn for a remainder of nothing.
    const uint64_t drawn = last.outputs_before + 2 * (uint64_t{n} - 1);
    out.push_back({last.kind, last.seed, drawn + kWorkerSeedOutputs});
    out.push_back({last.kind, last.seed, drawn});  // persistent workers
  }
  return out;
}

}  // namespace shufflefs
