// SPDX-License-Identifier: Apache-2.0
// The orders in which stock PyTorch asks for the samples of a dataset, bit for
// bit. tests/core/golden/torch_vectors.txt has golden vectors of real torch. An
// order is a list of indices into the dataset. The dataset decides what index 5
// means; ImageFolder, for example, numbers sorted classes and names.
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

// RandomSampler(range(n), num_samples=samples) without replacement. It draws
// from `generator`, which is its own, seeded anew for an epoch, or the one it
// was given. Draws whole permutations while they fit, then the head of one
// more. This last one is drawn even if none of it is used. REQUIRES: n >= 1.
std::vector<uint32_t> RandomSamplerOrder(uint32_t n, uint32_t samples,
                                         TorchGenerator& generator);

// torch.utils.data.distributed.DistributedSampler.
struct DistributedSampler {
  uint32_t n = 0;      // size of the dataset; >= 1
  uint32_t world = 1;  // num_replicas
  uint32_t rank = 0;   // < world
  uint64_t seed = 0;
  uint64_t epoch = 0;  // given to set_epoch
  bool shuffle = true;
  bool drop_last = false;

  // Returns how many samples a rank reads per epoch.
  uint32_t Length() const;

  // Returns the place of the rank's i-th sample in the permutation (unshuffled:
  // in the dataset). Ranks take turns. The head is read again as padding.
  uint32_t Place(uint32_t i) const {
    return static_cast<uint32_t>((rank + uint64_t{i} * world) % n);
  }

  // Returns the permutation that all ranks of the epoch share.
  std::vector<uint32_t> Permutation() const;

  // Returns what the rank reads. `permutation` is the result of Permutation().
  std::vector<uint32_t> Order(const std::vector<uint32_t>& permutation) const;
  std::vector<uint32_t> Order() const { return Order(Permutation()); }
};

// How a DataLoader deals an order to its workers: in batches, by turns. With
// in_order=False another worker may get the turn of a late one.
struct Dealing {
  uint32_t batch = 1;    // >= 1
  uint32_t workers = 0;  // 0: the training process reads by itself
  bool drop_last = false;

  // Returns how many samples of an order of this length are read.
  uint64_t Length(uint64_t samples) const {
    return drop_last ? samples - samples % batch : samples;
  }

  // Returns the place in the order of the i-th sample that a worker reads.
  uint64_t Place(uint32_t worker, uint64_t i) const {
    return workers == 0 ? i
                        : (i / batch * workers + worker) * batch + i % batch;
  }

  // Returns which worker reads the sample at a place of the order.
  uint32_t Worker(uint64_t place) const {
    return workers == 0 ? 0 : static_cast<uint32_t>(place / batch % workers);
  }

  // Returns what each worker reads. One list if there are no workers.
  std::vector<std::vector<uint32_t>> Deal(
      const std::vector<uint32_t>& order) const;
};

// Returns the lengths that random_split makes of fractions whose sum is 1.
std::vector<uint32_t> SplitLengths(uint32_t n,
                                   const std::vector<double>& fractions);

// Returns random_split(range(n), lengths, generator): the indices of each part.
// n is the sum of the lengths.
std::vector<std::vector<uint32_t>> RandomSplit(
    const std::vector<uint32_t>& lengths, TorchGenerator& generator);

// Returns the order of a Subset. `order` has places in `indices`.
std::vector<uint32_t> SubsetOrder(const std::vector<uint32_t>& indices,
                                  const std::vector<uint32_t>& order);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_SEARCH_SAMPLERS_H_
