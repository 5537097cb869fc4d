// SPDX-License-Identifier: Apache-2.0
// The opens of a DataLoader's workers, as they come at a mount: each worker
// reads its batches in order, at a speed of its own, and may be ahead of the
// training loop by prefetch_factor batches.
#ifndef SHUFFLEFS_TESTS_CORE_SAMPLER_LOADER_SIMULATION_H_
#define SHUFFLEFS_TESTS_CORE_SAMPLER_LOADER_SIMULATION_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/random/random.h"
#include "tests/testing/torch_loaders.h"

namespace shufflefs {

struct SimulatedOpen {
  uint32_t index;
  uint64_t thread;
};

// One loader's epoch over `order`. Threads are numbered from `thread` on.
class SimulatedLoader {
 public:
  SimulatedLoader(const std::vector<uint32_t>& order, const Dealing& dealing,
                  uint64_t thread)
      : batch_(dealing.batch),
        thread_(thread),
        dealt_(dealing.Deal(order)),
        read_(dealt_.size()) {}

  // The next open of a worker by chance; false if all has been read.
  bool Next(Rng& rng, SimulatedOpen& open) {
    std::vector<size_t> free;
    for (size_t w = 0; w < dealt_.size(); ++w) {
      if (read_[w] == dealt_[w].size()) continue;
      const uint64_t batch = read_[w] / batch_ * dealt_.size() + w;
      if (batch < Consumed() + 2 * dealt_.size()) free.push_back(w);
    }
    if (free.empty()) return false;
    // The lower half is chosen more often: workers are not equally fast.
    const size_t w =
        free[std::min(rng.Bounded(free.size()), rng.Bounded(2 * free.size()))];
    open = {dealt_[w][read_[w]++], thread_ + w};
    return true;
  }

 private:
  // Batches that every earlier one of which is complete as well.
  uint64_t Consumed() const {
    uint64_t consumed = ~uint64_t{0};
    for (size_t w = 0; w < dealt_.size(); ++w) {
      if (read_[w] == dealt_[w].size()) continue;
      consumed = std::min(consumed, read_[w] / batch_ * dealt_.size() + w);
    }
    return consumed;
  }

  uint64_t batch_;
  uint64_t thread_;
  std::vector<std::vector<uint32_t>> dealt_;
  std::vector<uint64_t> read_;
};

// The first `most` opens of several loaders (ranks) side by side.
inline std::vector<SimulatedOpen> OpensOf(
    const std::vector<std::vector<uint32_t>>& orders, const Dealing& dealing,
    uint64_t most, Rng& rng) {
  std::vector<SimulatedLoader> loaders;
  for (const auto& order : orders) {
    loaders.emplace_back(order, dealing, 1000 * loaders.size());
  }
  std::vector<SimulatedOpen> opens;
  SimulatedOpen open = {};
  while (!loaders.empty() && opens.size() < most) {
    const size_t i = rng.Bounded(loaders.size());
    if (loaders[i].Next(rng, open)) {
      opens.push_back(open);
    } else {
      loaders.erase(loaders.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return opens;
}

}  // namespace shufflefs

#endif  // SHUFFLEFS_TESTS_CORE_SAMPLER_LOADER_SIMULATION_H_
