// SPDX-License-Identifier: Apache-2.0
// The orders in which stock PyTorch asks for the samples of a dataset, bit for
// bit, and what a DataLoader draws for its epochs (generator_seeds.h says
// when). tests/core/golden/torch_vectors.txt has golden vectors of real torch.
// An order is a list of indices into the dataset. The dataset decides what
// index 5 means; ImageFolder, for example, numbers sorted classes and names.
// Plain values.
#ifndef SHUFFLEFS_TESTS_TESTING_TORCH_LOADERS_H_
#define SHUFFLEFS_TESTS_TESTING_TORCH_LOADERS_H_

#include <cstdint>
#include <numeric>
#include <vector>

#include "core/sampler/search/torch_random.h"

namespace shufflefs {

// SequentialSampler: 0, 1, … n - 1.
inline std::vector<uint32_t> SequentialOrder(uint32_t n) {
  std::vector<uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// RandomSampler(range(n), num_samples=samples) without replacement. It draws
// from `generator`, which is its own, seeded anew for an epoch, or the one it
// was given. Draws whole permutations while they fit, then the head of one
// more. This last one is drawn even if none of it is used. REQUIRES: n >= 1.
inline std::vector<uint32_t> RandomSamplerOrder(uint32_t n, uint32_t samples,
                                                TorchGenerator& generator) {
  std::vector<uint32_t> order;
  order.reserve(samples);
  for (uint32_t i = 0; i < samples / n; ++i) {
    const std::vector<uint32_t> all = TorchRandperm(n, generator);
    order.insert(order.end(), all.begin(), all.end());
  }
  const std::vector<uint32_t> last = TorchRandperm(n, generator);
  order.insert(order.end(), last.begin(), last.begin() + samples % n);
  return order;
}

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
  uint32_t Length() const {
    return drop_last ? n / world
                     : static_cast<uint32_t>((uint64_t{n} + world - 1) / world);
  }

  // Returns the place of the rank's i-th sample in the permutation (unshuffled:
  // in the dataset). Ranks take turns. The head is read again as padding.
  uint32_t Place(uint32_t i) const {
    return static_cast<uint32_t>((rank + uint64_t{i} * world) % n);
  }

  // Returns the permutation that all ranks of the epoch share.
  std::vector<uint32_t> Permutation() const {
    return shuffle ? TorchRandperm(n, seed + epoch) : SequentialOrder(n);
  }

  // Returns what the rank reads. `permutation` is the result of Permutation().
  std::vector<uint32_t> Order(const std::vector<uint32_t>& permutation) const {
    std::vector<uint32_t> order(Length());
    for (uint32_t i = 0; i < order.size(); ++i) {
      order[i] = permutation[Place(i)];
    }
    return order;
  }
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
      const std::vector<uint32_t>& order) const {
    std::vector<std::vector<uint32_t>> dealt(workers == 0 ? 1 : workers);
    const uint64_t length = Length(order.size());
    for (uint64_t i = 0; i < length; ++i) dealt[Worker(i)].push_back(order[i]);
    return dealt;
  }
};

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

  explicit LoaderEpochs(const Options& options)
      : options_(options), generator_(options.seed) {
    generator_.Discard(options.outputs_before);
    if (options.stateful && !options.own_generator) {
      generator_ = TorchGenerator(generator_.Random64());
    }
  }

  // Returns the order of the next epoch over n samples, read to its end.
  // REQUIRES: n >= 1.
  std::vector<uint32_t> NextOrder(uint32_t n) {
    if (options_.stateful) return NextStatefulOrder(n);
    if (!options_.own_generator) return TorchRandperm(n, NextSeed());
    DrawWorkerSeed();
    return RandomSamplerOrder(n, n, generator_);
  }

  // Returns the low half of the seed of the next epoch's permutation, instead
  // of its order. REQUIRES: no own_generator, not stateful.
  uint32_t NextSeed() {
    DrawWorkerSeed();
    return static_cast<uint32_t>(generator_.Random64());
  }

 private:
  void DrawWorkerSeed() {
    if (!begun_ || !options_.persistent_workers) generator_.Random64();
    begun_ = true;
  }
  std::vector<uint32_t> NextStatefulOrder(uint32_t n) {
    const bool is_reset = begun_ && options_.persistent_workers;
    begun_ = true;
    std::vector<uint32_t> order = TorchRandperm(n, generator_);
    if (is_reset) return order;
    // If the loader was given no generator, the default generator draws the
    // seed of the workers.
    if (options_.own_generator) generator_.Random64();
    return options_.workers ? TorchRandperm(n, generator_) : order;
  }

  const Options options_;
  bool begun_ = false;
  TorchGenerator generator_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_TESTS_TESTING_TORCH_LOADERS_H_
