// SPDX-License-Identifier: Apache-2.0
// What brand loads, misses and reads alone, over whole epochs.
#include "policies/auto/pool_simulation.h"

#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policies/brand/group_binder.h"
#include "policies/brand/location_binder.h"
#include "tests/policies/binder_fixture.h"

namespace shufflefs {
namespace {

using ::testing::Each;
using testing_support::MakeBinderData;

constexpr uint32_t kSamples = 20000;
constexpr uint32_t kMemory = 4500;  // samples

struct Shape {
  std::vector<uint32_t> sizes;
  uint32_t chunk = 64;
  bool mixed = true;
};

// The second epoch: the first begins with empty memory.
SimulatedEpoch SecondEpoch(const Shape& shape) {
  const auto data =
      MakeBinderData(shape.sizes, kMemory, shape.chunk, shape.mixed);
  GroupBinder binder(data->input);
  PoolSimulation simulation(data->input, binder);
  simulation.Run(Seed(1), Epoch(0));
  SimulatedEpoch epoch = simulation.Run(Seed(1), Epoch(1));
  EXPECT_LE(epoch.peak_bytes, data->input.memory_bytes);
  return epoch;
}

Shape Classes(uint32_t classes, uint32_t chunk, bool mixed) {
  return {std::vector<uint32_t>(classes, kSamples / classes), chunk, mixed};
}

double AlonePercent(const Shape& shape) {
  const SimulatedEpoch epoch = SecondEpoch(shape);
  return 100.0 * static_cast<double>(epoch.bypass) /
         static_cast<double>(epoch.samples.size());
}

TEST(PoolSimulation, ShowsEverySampleOnce) {
  const SimulatedEpoch epoch = SecondEpoch(Classes(200, 64, true));
  EXPECT_EQ(epoch.counts.hits + epoch.counts.misses, kSamples);
  std::vector<int> samples(kSamples);
  std::vector<int> names(kSamples);
  for (const uint64_t sample : epoch.samples) ++samples[sample];
  for (const uint64_t name : epoch.names) ++names[name];
  EXPECT_THAT(samples, Each(1));
  EXPECT_THAT(names, Each(1));
}

// Chunks that mix labels: 313 of 64 files.
TEST(PoolSimulation, PackedChunksAreReadOnceAndHardlyASampleAlone) {
  EXPECT_EQ(AlonePercent(Classes(1, 64, true)), 0);
  EXPECT_EQ(AlonePercent(Classes(40, 64, true)), 0);
  EXPECT_LT(AlonePercent(Classes(200, 64, true)), 0.05);
  EXPECT_LT(AlonePercent(Classes(1000, 64, true)), 2.5);
  EXPECT_LT(AlonePercent(Classes(5000, 64, true)), 24);
  for (const uint32_t classes : {1, 40, 200}) {
    const SimulatedEpoch epoch = SecondEpoch(Classes(classes, 64, true));
    // 313, and those that are read in two parts around the boundary: about as
    // many as memory holds.
    EXPECT_LE(epoch.counts.chunk_loads, 313 + 75) << classes;
    EXPECT_LE(epoch.counts.loaded, kSamples + 64) << classes;
  }
  // What is read alone and what is read ahead: no sample twice.
  const SimulatedEpoch many = SecondEpoch(Classes(1000, 64, true));
  EXPECT_LE(many.counts.loaded + many.bypass, kSamples + 64);
  EXPECT_LE(many.counts.chunk_loads, 313 + 120);
}

// Chunks of one class each, as files lie.
TEST(PoolSimulation, SmallChunksOfClassFoldersDoNearlyAsWell) {
  EXPECT_LT(AlonePercent(Classes(40, 64, false)), 0.5);
  EXPECT_LT(AlonePercent(Classes(40, 8, false)), 0.01);
  EXPECT_LT(AlonePercent(Classes(200, 8, false)), 0.1);
  EXPECT_LT(AlonePercent(Classes(1000, 8, false)), 6);
  EXPECT_LT(AlonePercent(Classes(1000, 2, false)), 0.1);
  // Where memory cannot hold a chunk of every class it is another matter.
  EXPECT_GT(AlonePercent(Classes(1000, 64, false)), 30);
}

TEST(PoolSimulation, ALongTailIsServedFromMemoryToo) {
  // 1,000 groups, the k-th largest of about 4,200 / k samples, at least 5.
  std::vector<uint32_t> sizes;
  for (uint32_t k = 1; k <= 1000; ++k) {
    sizes.push_back(std::max<uint32_t>(5, 2100 / k));
  }
  EXPECT_LT(AlonePercent({sizes, 64, true}), 6);
}

TEST(PoolSimulation, LocationsLoadAndReloadChunks) {
  const auto data = MakeBinderData({19200}, 4800, 64, true);
  LocationBinder binder(data->input);
  PoolSimulation simulation(data->input, binder);
  const SimulatedEpoch epoch = simulation.Run(Seed(1), Epoch(0));
  EXPECT_EQ(epoch.bypass, 0);
  EXPECT_NEAR(static_cast<double>(epoch.counts.chunk_samples), 7.1 * 19200,
              0.05 * 7.1 * 19200);
}

TEST(PoolSimulation, TheSameSeedGivesTheSameEpoch) {
  EXPECT_EQ(SecondEpoch(Classes(40, 64, true)).samples,
            SecondEpoch(Classes(40, 64, true)).samples);
}

}  // namespace
}  // namespace shufflefs
