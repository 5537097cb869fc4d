// SPDX-License-Identifier: Apache-2.0
// That an epoch's order owes nothing to those before it, under every policy
// that shuffles. All seeds are fixed.
#include "core/quality/epoch_memory.h"

#include <cmath>
#include <cstdio>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "core/dataset/block_map.h"
#include "core/random/permutation.h"
#include "core/records/order/record_order.h"
#include "gtest/gtest.h"
#include "policies/auto/pool_simulation.h"
#include "policies/brand/group_binder.h"
#include "policies/brand/location_binder.h"
#include "policies/met/met_plan.h"
#include "policies/registry.h"
#include "tests/policies/binder_fixture.h"
#include "tests/policies/met_fixture.h"

namespace shufflefs {
namespace {

using testing_support::MakeBinderData;

// What fs/SEMANTICS.md promises.
constexpr double kMost = 0.02;

EpochMemoryMeter MeterOf(const Grouping& grouping) {
  return {grouping.sample_count(), grouping.group_count(),
          [&grouping](uint64_t sample) {
            return grouping.group_of(SampleId(sample)).value();
          }};
}

EpochMemoryMeter OneGroup(uint64_t samples) {
  return {samples, 1, [](uint64_t) { return 0; }};
}

void Print(const char* what, const EpochMemory& memory) {
  std::printf("%-40s", what);
  for (const EpochMemory::Figures& figures : memory.before) {
    std::printf("  %+.4f", figures.correlation.value);
  }
  for (const EpochMemory::Figures& figures : memory.before) {
    std::printf("  %.2f",
                figures.neighbours.value / figures.neighbours.uniform);
  }
  std::printf("\n");
}

void ExpectForgetful(const char* what, const EpochMemory& memory) {
  Print(what, memory);
  for (const EpochMemory::Figures& figures : memory.before) {
    EXPECT_LT(std::abs(figures.correlation.value), kMost) << what;
  }
}

std::vector<uint64_t> Samples(const Order& order) {
  std::vector<uint64_t> samples;
  for (uint64_t i = 0; i < order.size(); ++i) {
    samples.push_back(order.SampleAt(i));
  }
  return samples;
}

TEST(EpochMemoryMeter, AFullShuffleRemembersNothingAndAFrozenOneAll) {
  EpochMemoryMeter shuffled = OneGroup(2000);
  EpochMemoryMeter frozen = OneGroup(2000);
  for (uint64_t epoch = 0; epoch < 40; ++epoch) {
    const Permutation order(2000, RandomKey(epoch));
    std::vector<uint64_t> samples;
    for (uint64_t i = 0; i < 2000; ++i) samples.push_back(order(i));
    shuffled.Add(samples);
    std::iota(samples.begin(), samples.end(), 0);
    frozen.Add(samples);
  }
  for (size_t back = 0; back < EpochMemory::kEpochs; ++back) {
    const EpochMemory::Figures none = shuffled.Report().before[back];
    EXPECT_EQ(none.pairs, 39 - back);
    EXPECT_LT(std::abs(none.correlation.value), 4 * none.correlation.error);
    EXPECT_NEAR(none.correlation.error, 1 / std::sqrt(2000.0 * (39 - back)),
                1e-4);
    EXPECT_NEAR(none.neighbours.value, none.neighbours.uniform,
                4 * none.neighbours.error);
    const EpochMemory::Figures all = frozen.Report().before[back];
    EXPECT_NEAR(all.correlation.value, 1, 1e-9);
    EXPECT_EQ(all.neighbours.value, 1);
  }
}

// Every third epoch is the same, but for the classes' order, which is nothing
// that a policy decides.
TEST(EpochMemoryMeter, LooksInsideGroupsAndThreeEpochsBack) {
  const Grouping grouping = Grouping::WithoutFiles({500, 500});
  EpochMemoryMeter meter = MeterOf(grouping);
  for (uint64_t epoch = 0; epoch < 30; ++epoch) {
    const Permutation order(500, RandomKey(epoch % 3));
    std::vector<uint64_t> samples;
    for (const uint64_t group : {epoch % 2, 1 - epoch % 2}) {
      for (uint64_t i = 0; i < 500; ++i) {
        samples.push_back(500 * group + order(i));
      }
    }
    meter.Add(samples);
  }
  const EpochMemory memory = meter.Report();
  EXPECT_LT(std::abs(memory.before[0].correlation.value), 0.1);
  EXPECT_LT(std::abs(memory.before[1].correlation.value), 0.1);
  EXPECT_NEAR(memory.before[2].correlation.value, 1, 1e-9);
  EXPECT_EQ(memory.before[2].neighbours.value, 1);
}

TEST(EpochMemoryMeter, SamplesMayBeMissing) {
  EpochMemoryMeter meter = OneGroup(6);
  meter.Add({5, 4, 3});
  meter.Add({0, 5, 1, 3});
  EXPECT_NEAR(meter.Report().before[0].correlation.value, 1, 1e-9);
  meter.Forget();
  meter.Add({3, 5});
  EXPECT_EQ(meter.Report().before[0].pairs, 1);
  const EpochMemory nothing = OneGroup(0).Report();
  EXPECT_EQ(nothing.before[0].pairs, 0);
  EXPECT_EQ(nothing.before[0].correlation.error, 0);
}

struct Pool {
  std::vector<uint32_t> sizes;
  double memory;  // of the dataset
  uint32_t chunk;
  bool mixed;
  double speed;  // of the device, against the reader
};

EpochMemory MemoryOf(const Pool& pool, uint64_t epochs, bool location) {
  const uint64_t samples =
      std::accumulate(pool.sizes.begin(), pool.sizes.end(), uint64_t{0});
  const auto data = MakeBinderData(
      pool.sizes,
      static_cast<uint64_t>(pool.memory * static_cast<double>(samples)),
      pool.chunk, pool.mixed);
  std::unique_ptr<Binder> binder = std::make_unique<GroupBinder>(data->input);
  if (location) binder = std::make_unique<LocationBinder>(data->input);
  PoolSimulation simulation(data->input, *binder, pool.speed);
  EpochMemoryMeter meter = MeterOf(data->grouping);
  for (uint64_t epoch = 0; epoch < epochs; ++epoch) {
    meter.Add(simulation.Run(Seed(20240607), Epoch(epoch)).samples);
  }
  return meter.Report();
}

std::string Title(const Pool& pool) {
  char text[80];
  std::snprintf(text, sizeof text, "%zu groups, %s, memory %.2f, speed %.1f",
                pool.sizes.size(), pool.mixed ? "mixed" : "in place",
                pool.memory, pool.speed);
  return text;
}

// [S-3.14c] Where a sample comes in an epoch says nothing of where it comes in
// the next three.
TEST(EpochMemoryOf, BrandIsNothingWhateverTheMemoryAndTheDevice) {
  for (const double memory : {0.25, 0.5, 0.75, 0.95, 1.3}) {
    for (const double speed : {0.0, 1.0, 0.5, 0.1}) {
      const Pool pool = {{300, 300, 300, 300, 300}, memory, 16, true, speed};
      ExpectForgetful(Title(pool).c_str(), MemoryOf(pool, 300, false));
    }
  }
}

TEST(EpochMemoryOf, BrandIsNothingWhateverTheGroupsAndChunks) {
  for (const double speed : {0.0, 0.5}) {
    for (const double memory : {0.25, 0.75}) {
      for (const Pool& pool : std::vector<Pool>{
               {{2000}, memory, 32, true, speed},
               {std::vector<uint32_t>(40, 50), memory, 8, false, speed},
               {std::vector<uint32_t>(200, 10), memory, 32, true, speed},
               // Memory for a sample of each group, or less.
               {std::vector<uint32_t>(200, 10), memory, 10, false, speed}}) {
        ExpectForgetful(Title(pool).c_str(), MemoryOf(pool, 150, false));
      }
    }
  }
}

// Chunks keep what they hold together, as far as memory does not mix it.
TEST(EpochMemoryOf, BrandsNeighboursPartAsMemoryAllows) {
  for (const double memory : {0.25, 0.75}) {
    const Pool pool = {{2000}, memory, 32, true, 0};
    const EpochMemory figures = MemoryOf(pool, 100, false);
    for (const EpochMemory::Figures& one : figures.before) {
      EXPECT_LT(one.neighbours.value / one.neighbours.uniform, 1.3);
    }
  }
}

TEST(EpochMemoryOf, LocationsIsNothing) {
  for (const double memory : {0.25, 0.75, 1.3}) {
    const Pool pool = {{300, 300, 300, 300, 300}, memory, 16, true, 0};
    ExpectForgetful(Title(pool).c_str(), MemoryOf(pool, 200, true));
  }
}

EpochMemory MemoryOf(const Policy& policy, const Stratum& stratum,
                     uint64_t epochs) {
  EpochMemoryMeter meter = OneGroup(stratum.size);
  for (uint64_t epoch = 0; epoch < epochs; ++epoch) {
    meter.Add(Samples(*policy.MakeOrder(stratum, Seed(7), Epoch(epoch))));
  }
  return meter.Report();
}

// Blocks that lie together come together, in every epoch: that is what they
// are for.
TEST(EpochMemoryOf, LirsIsNothingByPagesToo) {
  std::vector<uint64_t> addresses;
  for (uint64_t i = 0; i < 3000; ++i) addresses.push_back(i * 1000);
  const auto blocks = BlockMap::Build(addresses, 4096);
  ASSERT_TRUE(blocks.ok());
  const Stratum stratum = {.key = 1, .size = 3000, .blocks = &*blocks};
  const auto instance = *MakePolicy("lirs", {});
  ExpectForgetful("lirs", MemoryOf(*instance, stratum, 100));
  for (const uint64_t batch : {0, 32}) {
    PolicyOptions options;
    options.Set("lirs.unit", "page");
    options.Set("lirs.batch", batch);
    const auto policy = *MakePolicy("lirs", options);
    const EpochMemory memory = MemoryOf(*policy, stratum, 100);
    ExpectForgetful("lirs by pages", memory);
    for (const EpochMemory::Figures& figures : memory.before) {
      const double ratio =
          figures.neighbours.value / figures.neighbours.uniform;
      if (batch == 0) {
        EXPECT_GT(ratio, 50);
      } else {
        EXPECT_LT(ratio, 10);
      }
    }
  }
}

TEST(EpochMemoryOf, ReimuIsNothing) {
  const FixedTable table(0, 100, 3000);
  for (const uint64_t window : {1, 8}) {
    PolicyOptions options;
    options.Set("reimu.block", 4096);
    options.Set("reimu.window", window);
    const auto policy = *MakePolicy("reimu", options);
    EpochMemoryMeter meter = OneGroup(3000);
    for (uint64_t epoch = 0; epoch < 200; ++epoch) {
      RecordOrderOptions order_options;
      order_options.seed = Seed(7);
      order_options.epoch = Epoch(epoch);
      const auto order = MakeRecordOrder(*policy, table, order_options);
      std::vector<uint64_t> records;
      for (uint64_t part = 0; part < order->part_count(); ++part) {
        const std::vector<uint64_t> next = order->Records(part);
        records.insert(records.end(), next.begin(), next.end());
      }
      meter.Add(records);
    }
    ExpectForgetful("reimu", meter.Report());
  }
}

// Without repeats: those of a mini-epoch follow each other by design.
TEST(EpochMemoryOf, MetIsNothing) {
  const std::vector<uint32_t> sizes = {300, 300, 300};
  for (const uint64_t minis : {1, 8}) {
    testing_support::Job job(testing_support::Fixed(minis, 1, 200), sizes, 3);
    EpochMemoryMeter asked = MeterOf(job.data().grouping);
    EpochMemoryMeter ranked = MeterOf(job.data().grouping);
    for (uint64_t epoch = 0; epoch < 200; ++epoch) {
      job.Epoch(epoch);
      asked.Add(std::vector<uint64_t>(job.order().begin(), job.order().end()));
      const MetOrder order(testing_support::Fixed(minis, 1, 200),
                           {&job.data().grouping, 42, Seed(3)}, Epoch(epoch));
      ranked.Add(Samples(order));
    }
    ExpectForgetful("met", asked.Report());
    ExpectForgetful("met, ranked", ranked.Report());
  }
}

// A queue over the source's order is the source's order, a little mixed; as
// long as the source it is a full shuffle.
TEST(EpochMemoryOf, WindowIsAsMuchAsItsQueueIsShort) {
  const Stratum stratum = {.key = 1, .size = 2000, .blocks = nullptr};
  const auto with = [&](uint64_t samples) {
    PolicyOptions options;
    options.Set("window.samples", samples);
    const EpochMemory memory =
        MemoryOf(**MakePolicy("window", options), stratum, 60);
    Print("window", memory);
    return memory.before[0].correlation.value;
  };
  EXPECT_LT(std::abs(with(2000)), kMost);
  EXPECT_GT(with(200), 0.8);
  EXPECT_GT(with(20), 0.99);
}

}  // namespace
}  // namespace shufflefs
