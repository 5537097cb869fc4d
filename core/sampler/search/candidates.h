// SPDX-License-Identifier: Apache-2.0
// The permutations that stock jobs use most: those a recogniser looks at before
// it asks for a search of all seeds. Pure; immutable once made.
#ifndef SHUFFLEFS_CORE_SAMPLER_SEARCH_CANDIDATES_H_
#define SHUFFLEFS_CORE_SAMPLER_SEARCH_CANDIDATES_H_

#include <cstdint>
#include <vector>

#include "core/sampler/search/torch_random.h"

namespace shufflefs {

enum class SamplerKind {
  kListed,        // an order that the owner knows: sorted names, a listing
  kDistributed,   // DistributedSampler: seed + epoch
  kRandom,        // RandomSampler: a seed drawn for the epoch
  kOwnGenerator,  // RandomSampler of a DataLoader that was given a generator
  kStateful,      // StatefulDataLoader: all epochs are one generator's
  kRepeated,      // as the last epoch, whatever that was
};

// torch.randperm by a generator seeded so that gave some outputs before.
struct CandidateOrder {
  SamplerKind kind = SamplerKind::kRandom;
  uint64_t seed = 0;  // kDistributed: the sum of seed and epoch
  uint64_t outputs_before = 0;

  std::vector<uint32_t> Permutation(uint32_t n) const;

  friend bool operator==(const CandidateOrder&,
                         const CandidateOrder&) = default;
};

struct CandidateOptions {
  std::vector<uint64_t> seeds;  // of the user, beside those commonly used
  uint64_t epochs = 10000;      // of a DistributedSampler
};

// In the order in which they are worth a look: low epochs first. Each once.
std::vector<CandidateOrder> UsualCandidates(const CandidateOptions& options);

// The first epoch of a StatefulDataLoader with workers, over n samples, where
// `drawn`, of kOwnGenerator or kRandom, is one that the same generator gives a
// stock loader. Without workers it has the order of kRandom.
CandidateOrder FirstStateful(const CandidateOrder& drawn, uint32_t n);

// What may follow an epoch of that order over n samples, the likely first, if
// so many epochs began since then. One that is used again is among them.
std::vector<CandidateOrder> NextCandidates(const CandidateOrder& last,
                                           uint32_t n, uint64_t epochs = 1);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_SEARCH_CANDIDATES_H_
