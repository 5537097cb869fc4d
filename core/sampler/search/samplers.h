// SPDX-License-Identifier: Apache-2.0
// The orders in which stock PyTorch asks for the samples of a dataset, bit for
// bit (golden vectors of real torch: tests/core/golden/torch_vectors.txt). An
// order is a list of indices into the dataset; what index 5 is called is the
// dataset's own affair, as ImageFolder numbers sorted classes and names.
//
// Pure functions; any thread may call.
#ifndef SHUFFLEFS_CORE_SAMPLER_SEARCH_SAMPLERS_H_
#define SHUFFLEFS_CORE_SAMPLER_SEARCH_SAMPLERS_H_

#include <cstdint>
#include <vector>

#include "core/sampler/search/torch_random.h"

namespace shufflefs {

// SequentialSampler: 0, 1, … n - 1.
std::vector<uint32_t> SequentialOrder(uint32_t n);

// RandomSampler(range(n), num_samples=samples) without replacement, drawing
// from `generator`: its own, seeded anew for an epoch, or the one it was given.
// Whole permutations as long as they fit, then the head of one more, which is
// drawn even if nothing of it is used. REQUIRES: n >= 1.
std::vector<uint32_t> RandomSamplerOrder(uint32_t n, uint32_t samples,
                                         TorchGenerator& generator);

// torch.utils.data.distributed.DistributedSampler.
struct DistributedSampler {
  uint32_t n = 0;      // of the dataset; >= 1
  uint32_t world = 1;  // num_replicas
  uint32_t rank = 0;   // < world
  uint64_t seed = 0;
  uint64_t epoch = 0;  // of set_epoch
  bool shuffle = true;
  bool drop_last = false;

  // Samples a rank reads in an epoch.
  uint32_t Length() const;

  // Where in the permutation (or, unshuffled, the dataset) the i-th sample of
  // the rank stands: ranks take turns, and the head is read again as padding.
  uint32_t Place(uint32_t i) const {
    return static_cast<uint32_t>((rank + uint64_t{i} * world) % n);
  }

  // The permutation that all ranks of the epoch share.
  std::vector<uint32_t> Permutation() const;

  // What the rank reads. `permutation` is what Permutation() gives.
  std::vector<uint32_t> Order(const std::vector<uint32_t>& permutation) const;
  std::vector<uint32_t> Order() const { return Order(Permutation()); }
};

// How a DataLoader deals an order to its workers: in batches, by turns.
// With in_order=False a late worker's turn may pass to another one.
struct Dealing {
  uint32_t batch = 1;    // >= 1
  uint32_t workers = 0;  // 0: the training process reads by itself
  bool drop_last = false;

  // Samples of an order of so many that are read.
  uint64_t Length(uint64_t samples) const {
    return drop_last ? samples - samples % batch : samples;
  }

  // Where in the order the i-th sample that a worker reads stands.
  uint64_t Place(uint32_t worker, uint64_t i) const {
    return workers == 0 ? i
                        : (i / batch * workers + worker) * batch + i % batch;
  }

  // Who reads the sample at a place of the order.
  uint32_t Worker(uint64_t place) const {
    return workers == 0 ? 0 : static_cast<uint32_t>(place / batch % workers);
  }

  // What each worker reads; one list if there are none.
  std::vector<std::vector<uint32_t>> Deal(
      const std::vector<uint32_t>& order) const;
};

// The lengths that random_split makes of fractions whose sum is 1.
std::vector<uint32_t> SplitLengths(uint32_t n,
                                   const std::vector<double>& fractions);

// random_split(range(n), lengths, generator): the indices of each part, where
// n is the sum of the lengths.
std::vector<std::vector<uint32_t>> RandomSplit(
    const std::vector<uint32_t>& lengths, TorchGenerator& generator);

// The order of a Subset: `order` is of places in `indices`.
std::vector<uint32_t> SubsetOrder(const std::vector<uint32_t>& indices,
                                  const std::vector<uint32_t>& order);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_SEARCH_SAMPLERS_H_
