// SPDX-License-Identifier: Apache-2.0
// That what brand shows is a shuffle: where a sample comes in an epoch, and
// which samples come together. A reader draws names at random. All seeds are
// fixed and printed.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

#include "core/pool/chunk_map.h"
#include "core/random/permutation.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policies/auto/pool_simulation.h"
#include "policies/brand/group_binder.h"
#include "tests/policies/binder_fixture.h"

namespace shufflefs {
namespace {

using testing_support::BinderData;
using testing_support::MakeBinderData;

constexpr uint32_t kBins = 10;
constexpr uint64_t kSeed = 20240607;

// How often the samples of a bin of a class (by their place in it) come in a
// bin of the class's positions; summed over classes and epochs.
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

  // Standard deviations of chi-square from its expectation, by Wilson and
  // Hilferty. Each class's table of an epoch has fixed margins: (bins - 1)^2
  // degrees of freedom, and its chi-square is n / (n - 1) of that.
  // REQUIRES: all classes have `n` samples, a multiple of kBins.
  double Deviations(double n) const {
    const double expected = static_cast<double>(tables_) * n / (kBins * kBins);
    double chi = 0;
    for (const auto& row : cells_) {
      for (const uint64_t count : row) {
        const double d = static_cast<double>(count) - expected;
        chi += d * d / expected;
      }
    }
    const double freedom = (kBins - 1) * (kBins - 1);
    const double spread = 2 / (9 * freedom);
    return (std::cbrt(chi * (n - 1) / n / freedom) - (1 - spread)) /
           std::sqrt(spread);
  }

 private:
  const Grouping& grouping_;
  uint64_t cells_[kBins][kBins] = {};
  uint64_t tables_ = 0;
};

// 1 % of what is uniform is further up.
constexpr double kOnePercent = 2.326;

double PositionDeviations(const BinderData& data, uint64_t epochs,
                          double class_size) {
  std::printf("seed %llu\n", static_cast<unsigned long long>(kSeed));
  GroupBinder binder(data.input);
  PoolSimulation simulation(data.input, binder);
  PositionTable table(data.grouping);
  for (uint64_t epoch = 0; epoch < epochs; ++epoch) {
    table.Add(simulation.Run(Seed(kSeed), Epoch(epoch)).samples);
  }
  const double deviations = table.Deviations(class_size);
  std::printf("chi-square %.2f deviations from uniform\n", deviations);
  return deviations;
}

TEST(BinderQuality, ThePositionOfASampleInItsClassIsUniform) {
  for (const uint32_t classes : {1, 10, 40}) {
    const uint32_t size = 4000 / classes;
    const auto data =
        MakeBinderData(std::vector<uint32_t>(classes, size), 1000, 64, true);
    EXPECT_LT(PositionDeviations(*data, 200, size), kOnePercent) << classes;
  }
}

TEST(BinderQuality, ThePositionIsUniformWithManySmallClassesToo) {
  const auto data =
      MakeBinderData(std::vector<uint32_t>(200, 20), 1000, 64, true);
  EXPECT_LT(PositionDeviations(*data, 200, 20), kOnePercent);
}

// A table of its own making is told from a uniform one.
TEST(BinderQuality, TheMeasureSeesWhatIsNotUniform) {
  const auto data = MakeBinderData({4000}, 1000, 64, true);
  PositionTable uniform(data->grouping);
  PositionTable skewed(data->grouping);
  for (uint64_t epoch = 0; epoch < 200; ++epoch) {
    const Permutation order(
        4000, DeriveKey(Seed(kSeed), Epoch(epoch), 1, Purpose::kTest));
    std::vector<uint64_t> samples;
    for (uint64_t i = 0; i < 4000; ++i) samples.push_back(order(i));
    uniform.Add(samples);
    // One sample in fifty keeps its place.
    for (uint64_t i = 0; i < 4000; i += 50) {
      const auto own = std::find(samples.begin(), samples.end(), i);
      std::swap(samples[i], *own);
    }
    skewed.Add(samples);
  }
  EXPECT_LT(uniform.Deviations(4000), kOnePercent);
  EXPECT_GT(skewed.Deviations(4000), 10);
}

// Pairs of chunk mates among the pairs of samples that come within `distance`
// of each other, against a uniform shuffle: 1 is uniform.
double Togetherness(const BinderData& data, uint64_t epochs,
                    uint64_t distance) {
  std::vector<uint32_t> chunk_of(data.input.bytes.size());
  uint64_t mates = 0;
  for (uint32_t c = 0; c < data.input.chunks.size(); ++c) {
    const uint64_t n = data.input.chunks[c].size();
    mates += n * (n - 1) / 2;
    for (const uint32_t s : data.input.chunks[c]) chunk_of[s] = c;
  }
  GroupBinder binder(data.input);
  PoolSimulation simulation(data.input, binder);
  uint64_t near = 0;
  uint64_t pairs = 0;
  for (uint64_t epoch = 0; epoch < epochs; ++epoch) {
    const std::vector<uint64_t> samples =
        simulation.Run(Seed(kSeed), Epoch(epoch)).samples;
    for (size_t i = 0; i < samples.size(); ++i) {
      for (size_t j = i + 1; j < std::min(i + distance, samples.size()); ++j) {
        near += chunk_of[samples[i]] == chunk_of[samples[j]] ? 1 : 0;
        ++pairs;
      }
    }
  }
  const double n = static_cast<double>(chunk_of.size());
  return static_cast<double>(near) / static_cast<double>(pairs) /
         (static_cast<double>(mates) / (n * (n - 1) / 2));
}

TEST(BinderQuality, ChunkMatesComeTogetherAsMuchAsMemoryAllows) {
  // Memory for 22 % of the samples: mates are within that window of each
  // other, about 1 / 0.22 times as often as in a full shuffle, or half that
  // as most of them are drawn later.
  const auto data =
      MakeBinderData(std::vector<uint32_t>(40, 125), 1125, 64, true);
  for (const uint64_t distance : {64, 256, 1000}) {
    const double ratio = Togetherness(*data, 10, distance);
    std::printf("within %llu: %.2f of uniform\n",
                static_cast<unsigned long long>(distance), ratio);
    EXPECT_LT(ratio, 3);
    EXPECT_GT(ratio, 0.9);
  }
}

}  // namespace
}  // namespace shufflefs
