// SPDX-License-Identifier: Apache-2.0
// The permutations that stock jobs use most. A recogniser tests these before it
// asks for a search of all seeds. Pure; immutable once made.
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
  kRepeated,      // the order of the last epoch, whatever it was
};

// torch.randperm by a generator with this seed that already gave
// `outputs_before` outputs.
struct CandidateOrder {
  SamplerKind kind = SamplerKind::kRandom;
  uint64_t seed = 0;  // kDistributed: the sum of seed and epoch
  uint64_t outputs_before = 0;

  std::vector<uint32_t> Permutation(uint32_t n) const;

  friend bool operator==(const CandidateOrder&,
                         const CandidateOrder&) = default;
};

struct CandidateOptions {
  std::vector<uint64_t> seeds;  // given by the user, besides common seeds
  uint64_t epochs = 10000;      // of a DistributedSampler
};

// Returns each candidate once, those most worth a test first: low epochs first.
std::vector<CandidateOrder> UsualCandidates(const CandidateOptions& options);

// Returns the first epoch of a StatefulDataLoader with workers, over n samples.
// `drawn` (kOwnGenerator or kRandom) is what the same generator gives a stock
// loader. Without workers, the order is that of kRandom.
CandidateOrder FirstStateful(const CandidateOrder& drawn, uint32_t n);

// Returns what may follow an epoch of order `last` over n samples, the likely
// candidates first, if `epochs` epochs began since then. This includes `last`
// itself.
std::vector<CandidateOrder> NextCandidates(const CandidateOrder& last,
                                           uint32_t n, uint64_t epochs = 1);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_SEARCH_CANDIDATES_H_
