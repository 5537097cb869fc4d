// SPDX-License-Identifier: Apache-2.0
// How each policy mixes, what it holds in memory, and that threads agree.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "core/dataset/block_map.h"
#include "gtest/gtest.h"
#include "policies/registry.h"
#include "tests/core/quality/statistics.h"

namespace {
std::atomic<uint64_t> allocated_bytes = 0;  // ever asked for
}  // namespace

// Not inlined: gcc would see free() where it expects operator delete. The form
// that does not throw is here, too, as the same operator delete frees what it
// returns (std::stable_sort asks for its buffer so).
[[gnu::noinline]] void* operator new(size_t size) {
  allocated_bytes += size;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(size_t size,
                                     const std::nothrow_t&) noexcept {
  allocated_bytes += size;
  return std::malloc(size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}

namespace shufflefs {
namespace {

PolicyOptions Page(uint64_t batch) {
  PolicyOptions options;
  options.Set("lirs.unit", "page");
  options.Set("lirs.batch", batch);
  return options;
}

PolicyOptions Window(uint64_t samples) {
  PolicyOptions options;
  options.Set("window.samples", samples);
  return options;
}

// `per_page` samples in each page of 4 KiB, in path order.
BlockMap Pages(uint64_t samples, uint64_t per_page) {
  std::vector<uint64_t> addresses(samples);
  for (uint64_t i = 0; i < samples; ++i) {
    addresses[i] = i / per_page * 4096 + i % per_page;
  }
  return *BlockMap::Build(addresses, 4096);
}

// Over many epochs: how often each sample comes at each position, as
// deviations from equal. Rows and columns of the counts add up, which leaves
// (n-1)^2 of n^2-1 degrees of freedom; for n = 12 that is a factor of 0.85.
double PlaceDeviations(const Policy& policy, const Stratum& stratum,
                       bool listed) {
  constexpr uint64_t kEpochs = 20000;
  const uint64_t n = stratum.size;
  std::vector<uint64_t> counts(n * n);
  for (uint64_t e = 0; e < kEpochs; ++e) {
    const auto order = policy.MakeOrder(stratum, Seed(1), Epoch(e));
    const auto listing = policy.MakeListing(stratum, Seed(1), Epoch(e));
    for (uint64_t i = 0; i < n; ++i) {
      const uint64_t at = listed ? listing->SampleAt(i) : i;
      ++counts[i * n + order->SampleAt(at)];
    }
  }
  return ChiSquareDeviations(counts);
}

TEST(LirsQualityTest, InstanceAndEqualPagesPutEverySampleAnywhere) {
  const BlockMap blocks = Pages(12, 3);
  for (uint64_t batch : {0, 2, 4}) {
    const auto policy = *MakePolicy("lirs", Page(batch));
    const Stratum stratum = {.key = 1, .size = 12, .blocks = &blocks};
    EXPECT_LT(PlaceDeviations(*policy, stratum, false), kMaxDeviations);
    EXPECT_LT(PlaceDeviations(*policy, stratum, true), kMaxDeviations);
  }
  const auto policy = *MakePolicy("lirs", {});
  const Stratum stratum = {.key = 1, .size = 12, .blocks = nullptr};
  EXPECT_LT(PlaceDeviations(*policy, stratum, false), kMaxDeviations);
  EXPECT_LT(PlaceDeviations(*policy, stratum, true), kMaxDeviations);
}

TEST(LirsQualityTest, ABatchMixesItsPages) {
  const BlockMap blocks = Pages(4000, 4);
  const Stratum stratum = {.key = 1, .size = 4000, .blocks = &blocks};
  const auto adjacent = [&](uint64_t batch) {
    const auto policy = *MakePolicy("lirs", Page(batch));
    const auto order = policy->MakeOrder(stratum, Seed(1), Epoch(0));
    int together = 0;
    for (uint64_t i = 0; i + 1 < 4000; ++i) {
      together += order->SampleAt(i) / 4 == order->SampleAt(i + 1) / 4;
    }
    return together;
  };
  // Of the 3999 neighbours one page alone keeps 3 in 4 together; of 100 pages
  // mixed, a neighbour is one of 3 in 399.
  EXPECT_EQ(adjacent(1), 3000);
  EXPECT_NEAR(adjacent(100), 4000 * 3 / 399, 5 * std::sqrt(30));
}

TEST(WindowQualityTest, ASampleComesAtMostAQueueEarly) {
  const auto policy = *MakePolicy("window", Window(50));
  const Stratum stratum = {.key = 1, .size = 10000, .blocks = nullptr};
  const auto order = policy->MakeOrder(stratum, Seed(1), Epoch(0));
  uint64_t earliest = 0;
  double late = 0;
  for (uint64_t i = 0; i < stratum.size; ++i) {
    const uint64_t sample = order->SampleAt(i);
    if (sample > i) earliest = std::max(earliest, sample - i);
    late += static_cast<double>(i) - static_cast<double>(sample);
  }
  EXPECT_EQ(earliest, 49u);
  EXPECT_EQ(late, 0);  // of any permutation
}

TEST(WindowQualityTest, AQueueOfTheWholeStratumIsAFullShuffle) {
  const auto policy = *MakePolicy("window", Window(12));
  const Stratum stratum = {.key = 1, .size = 12, .blocks = nullptr};
  EXPECT_LT(PlaceDeviations(*policy, stratum, false), kMaxDeviations);
  const auto narrow = *MakePolicy("window", Window(6));
  EXPECT_GT(PlaceDeviations(*narrow, stratum, false), kMaxDeviations);
}

struct Use {
  uint64_t making;   // bytes asked for by MakeOrder and MakeListing
  uint64_t looking;  // and by lookups in both
};

Use MemoryOf(const Policy& policy, const Stratum& stratum) {
  uint64_t before = allocated_bytes;
  const auto order = policy.MakeOrder(stratum, Seed(1), Epoch(0));
  const auto listing = policy.MakeListing(stratum, Seed(1), Epoch(0));
  Use use{.making = allocated_bytes - before, .looking = 0};
  before = allocated_bytes;
  for (uint64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(order->PositionOf(order->SampleAt(i)), i);
    EXPECT_EQ(listing->PositionOf(listing->SampleAt(i)), i);
  }
  use.looking = allocated_bytes - before;
  return use;
}

TEST(MemoryTest, AsTheHeadersSay) {
  constexpr uint64_t kSamples = 100000;
  const BlockMap singles = Pages(kSamples, 1);
  const BlockMap tens = Pages(kSamples, 10);
  const auto use_of = [&](absl::string_view name, const PolicyOptions& options,
                          const BlockMap* blocks) {
    const auto policy = *MakePolicy(name, options);
    const Stratum stratum = {.key = 1, .size = kSamples, .blocks = blocks};
    const Use use = MemoryOf(*policy, stratum);
    EXPECT_LE(use.making, 1000u) << name;
    return use.looking;
  };
  EXPECT_EQ(use_of("native", {}, nullptr), 0u);
  EXPECT_EQ(use_of("lirs", {}, nullptr), 0u);
  EXPECT_EQ(use_of("lirs", Page(8), &singles), 0u);
  EXPECT_EQ(use_of("lirs", Page(8), nullptr), 0u);
  EXPECT_LE(use_of("lirs", Page(8), &tens), 4 * (kSamples / 10 + 1));
  EXPECT_LE(use_of("window", Window(100), nullptr), 8 * kSamples + 4 * 100);
}

TEST(ThreadTest, ThreadsThatAskFirstTogetherAgree) {
  const BlockMap blocks = Pages(5000, 5);
  const Stratum stratum = {.key = 1, .size = 5000, .blocks = &blocks};
  for (const auto& [name, options] :
       {std::pair("lirs", Page(3)), std::pair("window", Window(100))}) {
    const auto policy = *MakePolicy(name, options);
    const auto order = policy->MakeOrder(stratum, Seed(1), Epoch(0));
    const auto listing = policy->MakeListing(stratum, Seed(1), Epoch(0));
    std::atomic<int> wrong = 0;
    {
      std::vector<std::jthread> threads;
      for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
          for (uint64_t i = 0; i < stratum.size; ++i) {
            wrong += order->PositionOf(order->SampleAt(i)) != i;
            wrong += listing->SampleAt(listing->PositionOf(i)) != i;
          }
        });
      }
    }
    EXPECT_EQ(wrong, 0) << name;
  }
}

}  // namespace
}  // namespace shufflefs
