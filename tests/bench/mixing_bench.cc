// SPDX-License-Identifier: Apache-2.0
// How far from uniform brand mixes, by the simulator (a single reader that
// opens names at random, a pool that is always full): a line of a table for
// each dataset, pool and kind of chunks. mixing.py runs it.
//
//   mixing_bench [EPOCHS]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "core/dataset/grouping.h"
#include "core/policy/binder.h"
#include "core/pool/chunk_map.h"
#include "policies/auto/pool_simulation.h"
#include "policies/brand/group_binder.h"

namespace shufflefs {
namespace {

constexpr uint32_t kBins = 10;
constexpr uint64_t kBatch = 64;
constexpr uint64_t kNear = 1000;  // consecutive samples
constexpr uint64_t kSampleBytes = 100000;
constexpr uint32_t kChunkFiles = 64;

struct Shape {
  uint32_t classes = 0;
  uint32_t class_size = 0;  // a multiple of kBins
  double pool = 0;          // share of the dataset
  bool in_place = false;    // else chunks at random, as in a pack
};

// What binders know of a dataset; must not move.
struct Data {
  explicit Data(const Shape& shape)
      : grouping(Grouping::WithoutFiles(
            std::vector<uint32_t>(shape.classes, shape.class_size))) {
    const uint64_t n = grouping.sample_count();
    input.grouping = &grouping;
    input.bytes.assign(n, kSampleBytes);
    input.dataset_key = 42;
    input.memory_bytes =
        static_cast<uint64_t>(shape.pool * static_cast<double>(n)) *
        kSampleBytes;
    if (!shape.in_place) {
      input.chunks = ComposeMixedChunks(grouping, 7, kChunkFiles);
      return;
    }
    std::vector<uint64_t> addresses;
    for (uint64_t s = 0; s < n; ++s) addresses.push_back(s * kSampleBytes);
    PhysicalChunkOptions options;
    options.memory_bytes = input.memory_bytes;
    options.files_per_chunk = kChunkFiles;
    input.chunks =
        ComposePhysicalChunks(grouping, addresses, input.bytes, options).chunks;
  }

  Grouping grouping;
  BinderInput input;
};

// In which tenth of its class's positions a sample comes, against the tenth
// of the class that it is in; summed over classes and epochs.
class PositionTable {
 public:
  explicit PositionTable(const Grouping& grouping) : grouping_(grouping) {}

  void Add(const std::vector<uint64_t>& samples) {
    std::vector<uint32_t> seen(grouping_.group_count());
    for (const uint64_t sample : samples) {
      const GroupId id = grouping_.group_of(SampleId(sample));
      const Grouping::Group& group = grouping_.group(id);
      const uint64_t position = seen[id.value()]++;
      const uint64_t place = sample - group.first_sample;
      ++cells_[position * kBins / group.samples][place * kBins / group.samples];
    }
    tables_ += grouping_.group_count();
  }

  // Chi-square for each degree of freedom: 1 on average if uniform. The table
  // of a class and epoch has fixed margins, so (kBins - 1)^2 degrees, and its
  // chi-square is n / (n - 1) of that.
  double ChiPerDegree(double class_size) const {
    const double expected =
        static_cast<double>(tables_) * class_size / (kBins * kBins);
    double chi = 0;
    for (const auto& row : cells_) {
      for (const uint64_t count : row) {
        const double d = static_cast<double>(count) - expected;
        chi += d * d / expected;
      }
    }
    return chi * (class_size - 1) / class_size / kFreedom;
  }

  // The chance of that or more if it is uniform (Wilson and Hilferty).
  static double Chance(double chi_per_degree) {
    const double spread = 2 / (9 * kFreedom);
    const double deviations =
        (std::cbrt(chi_per_degree) - (1 - spread)) / std::sqrt(spread);
    return std::erfc(deviations / std::sqrt(2)) / 2;
  }

 private:
  static constexpr double kFreedom = (kBins - 1) * (kBins - 1);
  const Grouping& grouping_;
  uint64_t cells_[kBins][kBins] = {};
  uint64_t tables_ = 0;
};

// Pairs of chunk mates that come close together, against a uniform shuffle.
class Mates {
 public:
  explicit Mates(const BinderInput& input) : chunk_of_(input.bytes.size()) {
    for (uint32_t c = 0; c < input.chunks.size(); ++c) {
      const double size = static_cast<double>(input.chunks[c].size());
      mates_ += size * (size - 1) / 2;
      for (const uint32_t sample : input.chunks[c]) chunk_of_[sample] = c;
    }
    count_.resize(input.chunks.size());
  }

  void Add(const std::vector<uint64_t>& samples) {
    AddBatches(samples);
    AddNear(samples);
    ++epochs_;
  }

  double InBatch() const {
    const double n = static_cast<double>(chunk_of_.size());
    const double whole = std::floor(n / kBatch);
    const double rest = n - whole * kBatch;
    const double pairs =
        whole * kBatch * (kBatch - 1) / 2 + rest * (rest - 1) / 2;
    return Ratio(in_batch_, pairs);
  }
  double Near() const {
    const double n = static_cast<double>(chunk_of_.size());
    const double reach = std::min<double>(kNear - 1, n - 1);
    return Ratio(near_, reach * n - reach * (reach + 1) / 2);
  }

 private:
  double Ratio(uint64_t found, double pairs) const {
    const double n = static_cast<double>(chunk_of_.size());
    const double expected = epochs_ * pairs * mates_ / (n * (n - 1) / 2);
    return static_cast<double>(found) / expected;
  }
  void AddBatches(const std::vector<uint64_t>& samples) {
    for (size_t begin = 0; begin < samples.size(); begin += kBatch) {
      const size_t end = std::min(begin + kBatch, samples.size());
      for (size_t i = begin; i < end; ++i) {
        in_batch_ += count_[chunk_of_[samples[i]]]++;
      }
      for (size_t i = begin; i < end; ++i) count_[chunk_of_[samples[i]]] = 0;
    }
  }
  void AddNear(const std::vector<uint64_t>& samples) {
    for (size_t i = 0; i < samples.size(); ++i) {
      if (i >= kNear) --count_[chunk_of_[samples[i - kNear]]];
      near_ += count_[chunk_of_[samples[i]]]++;
    }
    std::fill(count_.begin(), count_.end(), 0);
  }

  std::vector<uint32_t> chunk_of_;  // by sample
  std::vector<uint32_t> count_;     // by chunk: in what is looked at
  double mates_ = 0;                // pairs
  double epochs_ = 0;
  uint64_t in_batch_ = 0;
  uint64_t near_ = 0;
};

void PrintLine(const Shape& shape, uint64_t epochs) {
  const Data data(shape);
  GroupBinder binder(data.input);
  PoolSimulation simulation(data.input, binder);
  PositionTable table(data.grouping);
  Mates mates(data.input);
  uint64_t bypass = 0;
  for (uint64_t e = 0; e < epochs; ++e) {
    const SimulatedEpoch epoch = simulation.Run(Seed(1), Epoch(e));
    table.Add(epoch.samples);
    mates.Add(epoch.samples);
    bypass += epoch.bypass;
  }
  const double n = static_cast<double>(data.grouping.sample_count());
  const double chi = table.ChiPerDegree(shape.class_size);
  const double chance = PositionTable::Chance(chi);
  std::printf(
      "| simulated | %.0f, %u classes | %.0f %% | %s, %.1f files | %.2f | "
      "%.2g %s | %.2fx | %.2fx | %.1f %% |\n",
      n, shape.classes, 100 * shape.pool,
      shape.in_place ? "as it lies" : "random or packed",
      n / static_cast<double>(data.input.chunks.size()), chi, chance,
      chance >= 0.01 ? "met" : "**missed**", mates.InBatch(), mates.Near(),
      100 * static_cast<double>(bypass) / static_cast<double>(epochs) / n);
}

}  // namespace
}  // namespace shufflefs

int main(int argc, char** argv) {
  const uint64_t epochs = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 200;
  for (const bool in_place : {false, true}) {
    for (const double pool : {1.0, 0.25}) {
      shufflefs::PrintLine({10, 500, pool, in_place}, epochs);
    }
    shufflefs::PrintLine({40, 500, 0.16, in_place}, epochs);
  }
  return 0;
}
