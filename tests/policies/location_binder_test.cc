// SPDX-License-Identifier: Apache-2.0
#include "policies/brand/location_binder.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "core/random/permutation.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/policies/binder_fixture.h"

namespace shufflefs {
namespace {

using ::testing::IsEmpty;
using testing_support::BinderData;
using testing_support::CheckedBinder;
using testing_support::MakeBinderData;
using Refill = LocationBinder::Refill;

std::unique_ptr<CheckedBinder> MakeChecked(const BinderData& data,
                                           Refill refill = Refill::kFillRate) {
  return std::make_unique<CheckedBinder>(
      data.input, std::make_unique<LocationBinder>(data.input, refill));
}

// One epoch in a random order; a load arrives at once. Returns how many
// samples were read alone.
uint64_t ReadEpoch(CheckedBinder& binder, uint32_t samples, uint64_t key) {
  const Permutation order(samples, RandomKey(key));
  uint64_t alone = 0;
  for (uint32_t i = 0; i < samples; ++i) {
    const uint32_t sample = binder.Bind(static_cast<uint32_t>(order(i)));
    if (!binder.held(sample)) {
      for (const uint32_t s : binder.FetchChunkOf(sample, binder.room())) {
        binder.Arrived(s);
      }
    }
    if (binder.held(sample)) {
      binder.Left(sample);
    } else {
      binder.Bypassed(sample);
      ++alone;
    }
  }
  return alone;
}

// Loads a chunk, on average over an epoch.
double LoadsPerChunk(uint32_t part, Refill refill) {
  const auto data = MakeBinderData({19200}, 19200 / part, 64, true);
  const auto binder = MakeChecked(*data, refill);
  EXPECT_EQ(ReadEpoch(*binder, 19200, 5), 0);
  const BinderCounts counts = binder->binder().counts();
  EXPECT_EQ(counts.misses, counts.chunk_loads);
  EXPECT_EQ(counts.hits + counts.misses, 19200);
  EXPECT_EQ(counts.loaded, 19200);  // no byte twice
  EXPECT_EQ(counts.chunk_samples, 64 * counts.chunk_loads);
  return static_cast<double>(counts.chunk_loads) / 300;
}

TEST(LocationMap, WithOneGroupIsThePapers) {
  const auto data = MakeBinderData({19200}, 4800, 64, true);
  const LocationBinder binder(data->input);
  EXPECT_EQ(binder.map().location_count(), 4800);
  for (uint32_t l = 0; l < 4800; ++l) {
    EXPECT_EQ(binder.map().column(l).size(), 4);
  }
}

TEST(LocationMap, ColumnsHoldOneGroupAndOneSampleOfAChunk) {
  for (const bool mixed : {false, true}) {
    const auto data = MakeBinderData({500, 3, 77, 1, 400, 19}, 300, 20, mixed);
    const LocationBinder binder(data->input);
    const LocationMap& map = binder.map();
    uint64_t samples = 0;
    std::map<uint32_t, uint32_t> chunk_group_of;
    for (uint32_t l = 0; l < map.location_count(); ++l) {
      std::set<uint32_t> chunks;
      std::set<uint32_t> groups;
      for (const uint32_t sample : map.column(l)) {
        EXPECT_EQ(map.location_of(sample), l);
        const uint32_t chunk = map.chunk_of(sample);
        EXPECT_TRUE(chunks.insert(chunk).second);
        EXPECT_EQ(
            chunk_group_of.emplace(chunk, map.chunk_group_of(l)).first->second,
            map.chunk_group_of(l));
        groups.insert(data->grouping.group_of(SampleId(sample)).value());
        ++samples;
      }
      EXPECT_EQ(groups.size(), 1);
      EXPECT_TRUE(map.has_memory(l));
    }
    EXPECT_EQ(samples, 1000);
    EXPECT_LE(map.location_count(), 300);
  }
}

TEST(LocationMap, LeavesLocationsWithoutMemoryWhereThereIsTooLittle) {
  const auto data = MakeBinderData({1000}, 30, 64, true);
  const LocationBinder binder(data->input);
  uint32_t with = 0;
  for (uint32_t l = 0; l < binder.map().location_count(); ++l) {
    with += binder.map().has_memory(l) ? 1 : 0;
    EXPECT_EQ(binder.map().chunk_group_of(l), 0) << "of all chunks";
  }
  EXPECT_EQ(binder.map().location_count(), 64);
  EXPECT_EQ(with, 30);
}

// The figures of the protocol, found with another program.
TEST(LocationBinder, LoadsChunksAsOftenAsThePapersProtocol) {
  EXPECT_NEAR(LoadsPerChunk(2, Refill::kFillRate), 4.8, 4.8 * 0.05);
  EXPECT_NEAR(LoadsPerChunk(4, Refill::kFillRate), 7.1, 7.1 * 0.05);
  EXPECT_NEAR(LoadsPerChunk(10, Refill::kFillRate), 8.9, 8.9 * 0.05);
}

TEST(LocationBinder, TheFillRateIsTheBestRefill) {
  const double none = LoadsPerChunk(10, Refill::kNone);
  const double random = LoadsPerChunk(10, Refill::kRandom);
  const double full = LoadsPerChunk(10, Refill::kFillRate);
  EXPECT_LT(full, 0.97 * random);
  EXPECT_LT(full, 0.97 * none);
  EXPECT_NEAR(random, 9.8, 9.8 * 0.05);
}

TEST(LocationBinder, AHitInvalidatesItsLocationAndAMissLoadsAChunk) {
  const auto data = MakeBinderData({20}, 10, 10, true);
  const auto binder = MakeChecked(*data);
  EXPECT_THAT(binder->NextFetch(10000), IsEmpty());
  const uint32_t first = binder->Bind(0);
  const std::vector<uint32_t> load = binder->FetchChunkOf(first, 10000);
  ASSERT_EQ(load.size(), 10);
  for (const uint32_t s : load) binder->Arrived(s);
  const LocationMap& map = static_cast<LocationBinder&>(binder->binder()).map();
  // Another name of the same location misses, one of any other hits.
  for (uint32_t name = 1; name < 20; ++name) {
    const bool same = map.location_of(name) == map.location_of(0);
    const uint64_t misses = binder->binder().counts().misses;
    const uint32_t sample = binder->Bind(name);
    if (same) {
      EXPECT_EQ(binder->binder().counts().misses, misses + 1);
      EXPECT_FALSE(binder->held(sample));
    }
    EXPECT_EQ(map.location_of(sample), map.location_of(name));
  }
  EXPECT_EQ(binder->binder().counts().hits, 9);
}

TEST(LocationBinder, ANameIsReadyOnceItsLocationHoldsASample) {
  const auto data = MakeBinderData({20}, 10, 10, true);
  const auto checked = MakeChecked(*data);
  const Binder& binder = checked->binder();
  EXPECT_FALSE(binder.IsReady(SampleId(0)));
  const uint32_t first = checked->Bind(0);
  EXPECT_TRUE(binder.IsReady(SampleId(0)));  // it is bound
  const LocationMap& map = static_cast<const LocationBinder&>(binder).map();
  const std::vector<uint32_t> load = checked->FetchChunkOf(first, 10000);
  ASSERT_EQ(load.size(), 10);
  for (const uint32_t s : load) {
    if (s == first) continue;
    const SampleId name(map.column(map.location_of(s)).front());
    EXPECT_FALSE(binder.IsReady(name)) << "on its way";
    checked->Arrived(s);
    EXPECT_TRUE(binder.IsReady(name));
    const auto other =
        static_cast<uint32_t>(map.column(map.location_of(s)).back());
    checked->Bind(static_cast<uint32_t>(name.value()));
    EXPECT_FALSE(binder.IsReady(SampleId(other))) << "it was consumed";
  }
}

// As shufflectl simulate --refill.
TEST(LocationBinder, AShareIsRefilledAsTheWhole) {
  const auto data = MakeBinderData({400}, 40, 10, true);
  const LocationBinder whole(data->input, Refill::kNone);
  CheckedBinder share(data->input, whole.ForShare(data->input));
  for (uint32_t name = 0; name < 400; name += 40) {
    EXPECT_EQ(share.Bind(name), name) << "the chunk of its own sample";
  }
}

TEST(LocationBinder, NeverLoadsOverWhatIsThere) {
  const auto data = MakeBinderData({20}, 10, 10, true);
  const auto binder = MakeChecked(*data);
  const LocationMap& map = static_cast<LocationBinder&>(binder->binder()).map();
  for (const uint32_t s : binder->FetchChunkOf(binder->Bind(0), 10000)) {
    binder->Arrived(s);
  }
  // The other name of location 0 loads the other chunk: all its locations
  // hold something but that one.
  for (const uint32_t name : map.column(map.location_of(0))) {
    if (name == 0) continue;
    EXPECT_EQ(binder->FetchChunkOf(binder->Bind(name), 10000).size(), 1);
  }
  EXPECT_EQ(binder->binder().counts().loaded, 11);
  EXPECT_EQ(binder->binder().counts().chunk_samples, 20);
}

TEST(LocationBinder, FillsAsMuchAsThereIsRoomFor) {
  const auto data = MakeBinderData({100}, 50, 10, true);
  const auto binder = MakeChecked(*data);
  const uint32_t first = binder->Bind(0);
  EXPECT_THAT(binder->FetchChunkOf(first, 999), IsEmpty());
  EXPECT_EQ(binder->FetchChunkOf(first, 4500).size(), 4);
  EXPECT_THAT(binder->FetchChunkOf(first, 4500), IsEmpty());
}

TEST(LocationBinder, ReadsEpochAfterEpochWithGroups) {
  const auto data =
      MakeBinderData(std::vector<uint32_t>(40, 50), 500, 16, true);
  const auto binder = MakeChecked(*data);
  for (uint64_t epoch = 0; epoch < 5; ++epoch) {
    binder->BeginEpoch(Epoch(epoch), {});
    EXPECT_EQ(ReadEpoch(*binder, 2000, epoch), 0);
    binder->ExpectBijection();
    EXPECT_EQ(binder->held_bytes(), 0);
  }
  const BinderCounts counts = binder->binder().counts();
  EXPECT_EQ(counts.loaded, 5 * 2000);
  EXPECT_GT(counts.chunk_samples, 5 * 2000 * 3);
}

TEST(LocationBinder, WithoutSamples) {
  const auto data = MakeBinderData({}, 10, 10, true);
  LocationBinder binder(data->input);
  binder.BeginEpoch(Seed(1), Epoch(1), {});
  EXPECT_THAT(binder.NextFetch(1000), IsEmpty());
}

}  // namespace
}  // namespace shufflefs
