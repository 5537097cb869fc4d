// SPDX-License-Identifier: Apache-2.0
#include "policies/brand/group_binder.h"

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "core/random/permutation.h"
#include "core/random/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/policies/binder_fixture.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing_support::BinderData;
using testing_support::CheckedBinder;
using testing_support::MakeBinderData;

std::unique_ptr<CheckedBinder> MakeChecked(const BinderData& data) {
  return std::make_unique<CheckedBinder>(
      data.input, std::make_unique<GroupBinder>(data.input));
}

constexpr uint32_t kNone = CheckedBinder::kNone;

std::vector<uint32_t> Sizes(uint32_t groups, uint32_t samples) {
  return std::vector<uint32_t>(groups, samples);
}

// Fetches and lets arrive all that fits.
void Fill(CheckedBinder& binder) {
  for (;;) {
    const std::vector<uint32_t> samples = binder.NextFetch(binder.room());
    if (samples.empty()) return;
    for (const uint32_t sample : samples) binder.Arrived(sample);
  }
}

// A reader opens `name` and reads it through. True if that was a bypass.
bool ReadThrough(CheckedBinder& binder, uint32_t name) {
  const uint32_t sample = binder.Bind(name);
  if (!binder.held(sample)) {
    for (const uint32_t s : binder.FetchChunkOf(sample, binder.room())) {
      binder.Arrived(s);
    }
  }
  if (binder.held(sample)) {
    binder.Consumed(sample);
    return false;
  }
  binder.Bypassed(sample);
  return true;
}

std::vector<uint32_t> Shuffled(uint32_t size, uint64_t key) {
  const Permutation order(size, RandomKey(key));
  std::vector<uint32_t> names;
  for (uint32_t i = 0; i < size; ++i) {
    names.push_back(static_cast<uint32_t>(order(i)));
  }
  return names;
}

bool Has(const std::vector<uint32_t>& samples, uint32_t sample) {
  return std::count(samples.begin(), samples.end(), sample) > 0;
}

TEST(GroupBinder, GivesWhatIsInMemoryBeforeWhatIsOnItsWay) {
  const auto data = MakeBinderData({100}, 400, 50, true);
  const auto binder = MakeChecked(*data);
  const std::vector<uint32_t> first = binder->NextFetch(50 * 1000);
  ASSERT_EQ(first.size(), 50);
  const std::vector<uint32_t> second = binder->NextFetch(50 * 1000);
  ASSERT_EQ(second.size(), 50);
  for (const uint32_t sample : first) binder->Arrived(sample);
  for (uint32_t name = 0; name < 100; ++name) {
    EXPECT_TRUE(Has(name < 50 ? first : second, binder->Bind(name))) << name;
  }
  EXPECT_EQ(binder->binder().counts().hits, 100);
  EXPECT_EQ(binder->binder().counts().misses, 0);
  EXPECT_EQ(binder->binder().counts().chunk_loads, 2);
}

// Else what a device answers soon would be shown soon, in every epoch.
TEST(GroupBinder, TheOrderInWhichSamplesArriveDecidesNothing) {
  const auto data = MakeBinderData({100}, 400, 50, true);
  const auto binder = MakeChecked(*data);
  const auto other = MakeChecked(*data);
  std::vector<uint32_t> fetched = binder->NextFetch(50 * 1000);
  EXPECT_EQ(other->NextFetch(50 * 1000), fetched);
  const std::vector<uint32_t> second = binder->NextFetch(50 * 1000);
  EXPECT_EQ(other->NextFetch(50 * 1000), second);
  fetched.insert(fetched.end(), second.begin(), second.end());
  // All but one of the first chunk.
  for (uint32_t i = 99; i > 0; --i) binder->Arrived(fetched[i]);
  for (uint32_t name = 0; name < 100; ++name) {
    EXPECT_EQ(binder->Bind(name), other->Bind(name)) << name;
  }
  EXPECT_EQ(binder->binder().counts().hits, 100);
}

TEST(GroupBinder, MissesGetTheEarliestPlannedChunk) {
  for (const bool mixed : {false, true}) {
    const auto data = MakeBinderData(Sizes(4, 60), 100, 20, mixed);
    const auto binder = MakeChecked(*data);
    // What is planned, from one that fetches everything.
    BinderInput roomy = data->input;
    roomy.memory_bytes = uint64_t{1} << 40;
    GroupBinder other(roomy);
    std::vector<int> place(240);
    for (int chunk = 0; chunk < 12; ++chunk) {
      for (const SampleId sample : other.NextFetch(roomy.memory_bytes)) {
        place[sample.value()] = chunk;
      }
    }
    // Without room nothing is ever fetched.
    std::vector<int> last(4);
    for (uint32_t i = 0; i < 60; ++i) {
      for (uint32_t g = 0; g < 4; ++g) {
        const uint32_t sample = binder->Bind(g * 60 + (i * 7) % 60);
        EXPECT_EQ(sample / 60, g);
        EXPECT_GE(place[sample], last[g]) << mixed;
        last[g] = place[sample];
        EXPECT_THAT(binder->FetchChunkOf(sample, 999), IsEmpty());
        binder->Bypassed(sample);
      }
    }
    EXPECT_EQ(binder->binder().counts().misses, 240);
    binder->ExpectBijection();
    EXPECT_TRUE(binder->binder().fetched_all());
  }
}

// Those of one chunk, in another order each epoch.
TEST(GroupBinder, WhatIsMissedFirstIsNotTheSameInEveryEpoch) {
  const auto data = MakeBinderData({20}, 100, 20, true);
  GroupBinder binder(data->input);
  std::set<uint64_t> first;
  for (uint64_t epoch = 0; epoch < 30; ++epoch) {
    binder.BeginEpoch(Seed(1), Epoch(epoch), {});
    first.insert(binder.Bind(SampleId(0)).value());
  }
  EXPECT_GT(first.size(), 10);
}

TEST(GroupBinder, FetchesTheChunkThatAReaderWaitsFor) {
  const auto data = MakeBinderData(Sizes(3, 100), 300, 10, true);
  const auto binder = MakeChecked(*data);
  const uint32_t sample = binder->Bind(7);
  EXPECT_THAT(binder->FetchChunkOf(sample, 9999), IsEmpty());
  const std::vector<uint32_t> chunk = binder->FetchChunkOf(sample, 10000);
  EXPECT_EQ(chunk.size(), 10);
  EXPECT_THAT(binder->FetchChunkOf(sample, 10000), IsEmpty());  // on its way
}

TEST(GroupBinder, ReadsSmallPiecesWhereMemoryIsSmallerThanAChunk) {
  const auto data = MakeBinderData({200}, 40, 64, true);
  const auto binder = MakeChecked(*data);
  // A quarter of the memory at a time, as it lies in a chunk.
  const std::vector<uint32_t> piece = binder->NextFetch(40000);
  ASSERT_FALSE(piece.empty());
  for (const auto& chunk : data->input.chunks) {
    const auto at = std::find(chunk.begin(), chunk.end(), piece.front());
    if (at == chunk.end()) continue;
    EXPECT_EQ((at - chunk.begin()) % 10, 0);
    EXPECT_EQ(piece.size(), std::min<size_t>(10, chunk.end() - at));
    EXPECT_TRUE(std::equal(piece.begin(), piece.end(), at));
    return;
  }
  FAIL() << "no chunk has " << piece.front();
}

TEST(GroupBinder, NeverFetchesAHugeSample) {
  const auto data = MakeBinderData({50}, 100, 10, true);
  data->input.bytes[13] = 26000;  // a quarter is 25,000
  const auto binder = MakeChecked(*data);
  Fill(*binder);
  EXPECT_EQ(binder->here().size(), 49);
  EXPECT_EQ(binder->here().count(13), 0);
  EXPECT_TRUE(binder->binder().fetched_all());
  for (uint32_t name = 0; name < 50; ++name) ReadThrough(*binder, name);
  EXPECT_TRUE(binder->alone(13));
  EXPECT_EQ(binder->binder().counts().misses, 1);
  binder->ExpectBijection();
}

TEST(GroupBinder, AStormOfStatsIsABijectionAndTheRestIsStillFetched) {
  for (const bool mixed : {false, true}) {
    const auto data = MakeBinderData(Sizes(10, 100), 200, 10, mixed);
    const auto binder = MakeChecked(*data);
    Fill(*binder);
    for (uint32_t name = 0; name < 1000; ++name) binder->Bind(name);
    binder->ExpectBijection();
    EXPECT_EQ(binder->binder().counts().hits, 200);
    // Where each chunk has one group, room is kept for readers that wait.
    EXPECT_EQ(binder->binder().kept() > 0, !mixed);
    std::set<uint32_t> fetched = binder->here();
    while (!binder->here().empty()) {
      while (binder->room() < 50000) binder->Left(*binder->here().begin());
      if (binder->binder().fetched_all()) break;
      Fill(*binder);
      fetched.insert(binder->here().begin(), binder->here().end());
    }
    EXPECT_EQ(fetched.size(), 1000);
  }
}

TEST(GroupBinder, AMillionStatsAreDoneSoon) {
  // With any step that is not O(1), this would take hours.
  for (const bool mixed : {false, true}) {
    const auto data = MakeBinderData(Sizes(1000, 1000), 200000, 64, mixed);
    GroupBinder binder(data->input);
    while (!binder.NextFetch(1000 * 64).empty() &&
           binder.counts().chunk_loads < 1000) {
    }
    for (uint32_t name = 0; name < 1000000; ++name) {
      binder.Bind(SampleId(name));
      if (name % 100 == 0) binder.NextFetch(64 * 1000);
    }
    std::vector<bool> seen(1000000);
    for (uint32_t name = 0; name < 1000000; ++name) {
      const uint64_t sample = binder.Bound(SampleId(name))->value();
      ASSERT_FALSE(seen[sample]);
      ASSERT_EQ(sample / 1000, name / 1000);
      seen[sample] = true;
    }
  }
}

TEST(GroupBinder, WhatFailsIsNotFetchedAgainAndStillShown) {
  const auto data = MakeBinderData({30}, 100, 10, true);
  const auto binder = MakeChecked(*data);
  const std::vector<uint32_t> first = binder->NextFetch(100000);
  ASSERT_EQ(first.size(), 10);
  binder->Left(first[4]);  // not bound: a read ahead that failed
  const uint32_t bound = binder->Bind(3);
  binder->Left(bound);
  Fill(*binder);
  uint64_t now = binder->coming().size();  // the rest of the first chunk
  for (const uint32_t s : binder->here()) {
    now += binder->binder().fetched_ahead(SampleId(s)) ? 0 : 1;
  }
  EXPECT_EQ(now, 28);
  for (uint32_t name = 0; name < 30; ++name) binder->Bind(name);
  binder->ExpectBijection();
  const uint32_t name = binder->name_of(first[4]);
  ASSERT_NE(name, CheckedBinder::kNone);
  EXPECT_THAT(binder->FetchChunkOf(first[4], 100000), IsEmpty());
  binder->Bypassed(first[4]);
}

TEST(GroupBinder, GoesOnWithTheNextEpochAndKeepsIt) {
  const auto data = MakeBinderData(Sizes(4, 100), 100, 10, true);
  const auto binder = MakeChecked(*data);
  for (const uint32_t name : Shuffled(400, 1)) {
    Fill(*binder);
    ReadThrough(*binder, name);
  }
  Fill(*binder);
  // All is consumed: memory is full of the next epoch's, but for less than a
  // chunk.
  EXPECT_GT(binder->here().size(), 90);
  const std::set<uint32_t> ahead = binder->here();
  binder->ExpectBijection();
  const uint64_t loads = binder->binder().counts().chunk_loads;
  binder->BeginEpoch(Epoch(1), {});
  EXPECT_EQ(binder->here(), ahead);
  EXPECT_FALSE(binder->binder().fetched_all());
  EXPECT_FALSE(binder->binder().fetched_ahead(SampleId(*ahead.begin())));
  for (const uint32_t s : ahead) EXPECT_EQ(binder->name_of(s), kNone);
  for (uint32_t i = 0; i < 40; ++i) {
    const uint32_t sample = binder->Bind(i % 4 * 100 + i);
    EXPECT_EQ(ahead.count(sample), 1) << i;
  }
  EXPECT_EQ(binder->binder().counts().chunk_loads, loads);
}

// What an epoch leaves in memory is whole chunks of the next one's plan, as
// much as there is room for: nothing that depends on how this one was read.
TEST(GroupBinder, TheNextEpochBeginsWithTheFirstChunksOfItsPlan) {
  for (const bool mixed : {false, true}) {
    const auto data = MakeBinderData(Sizes(4, 100), 300, 10, mixed);
    const auto binder = MakeChecked(*data);
    const auto other = MakeChecked(*data);
    for (const uint32_t name : Shuffled(400, 1)) {
      Fill(*binder);
      ReadThrough(*binder, name);
    }
    for (const uint32_t name : Shuffled(400, 2)) {
      Fill(*other);
      ReadThrough(*other, name);
    }
    Fill(*binder);
    Fill(*other);
    EXPECT_EQ(binder->here().size(), 300);
    EXPECT_EQ(binder->here(), other->here());
    const uint64_t loaded = binder->binder().counts().loaded;
    // The 300 that are there at the end of the first epoch's reading of 400,
    // but for those that were consumed by then.
    EXPECT_LT(loaded, 400 + 300 / 2);
    binder->BeginEpoch(Epoch(1), {});
    Fill(*binder);
    for (const uint32_t name : Shuffled(400, 3)) {
      Fill(*binder);
      ReadThrough(*binder, name);
    }
    binder->ExpectBijection();
  }
}

TEST(GroupBinder, WhatFitsIntoMemoryIsReadOnce) {
  const auto data = MakeBinderData(Sizes(4, 100), 500, 10, true);
  const auto binder = MakeChecked(*data);
  for (uint64_t epoch = 0; epoch < 5; ++epoch) {
    if (epoch > 0) binder->BeginEpoch(Epoch(epoch), {});
    for (const uint32_t name : Shuffled(400, epoch)) {
      Fill(*binder);
      ReadThrough(*binder, name);
    }
    binder->ExpectBijection();
  }
  EXPECT_EQ(binder->binder().counts().loaded, 400);
  EXPECT_EQ(binder->binder().counts().misses, 0);
}

// Not before the epoch is fetched: memory would hold less of what it still
// has to show, and mix it less.
TEST(GroupBinder, NothingIsKeptWhileThereIsMoreOfTheEpochToFetch) {
  const auto data = MakeBinderData({400}, 100, 10, true);
  const auto binder = MakeChecked(*data);
  for (const uint32_t name : Shuffled(400, 1)) {
    Fill(*binder);
    const uint32_t sample = binder->Bind(name);
    if (binder->binder().fetched_all()) return;
    EXPECT_FALSE(binder->binder().Keeps(SampleId(sample)));
    binder->Left(sample);
  }
  FAIL() << "never fetched";
}

// It is not the one that was prepared.
TEST(GroupBinder, AnotherEpochThanTheNextTakesWhatIsThere) {
  const auto data = MakeBinderData(Sizes(4, 100), 200, 10, true);
  const auto binder = MakeChecked(*data);
  for (const uint32_t name : Shuffled(400, 1)) {
    Fill(*binder);
    ReadThrough(*binder, name);
  }
  Fill(*binder);
  const std::set<uint32_t> before = binder->here();
  EXPECT_EQ(before.size(), 200);
  binder->BeginEpoch(Epoch(7), {});
  for (uint32_t i = 0; i < 20; ++i) {
    EXPECT_EQ(before.count(binder->Bind(i % 4 * 100 + i)), 1);
  }
  EXPECT_EQ(binder->binder().counts().misses, 0);
}

TEST(GroupBinder, FetchesNothingAheadThatIsNotShownYet) {
  const auto data = MakeBinderData({100}, 200, 10, true);
  const auto binder = MakeChecked(*data);
  Fill(*binder);
  EXPECT_TRUE(binder->binder().fetched_all());
  EXPECT_EQ(binder->here().size(), 100);
  EXPECT_THAT(binder->NextFetch(100000), IsEmpty());
  for (uint32_t name = 0; name < 30; ++name) binder->Bind(name);
  EXPECT_THAT(binder->NextFetch(100000), IsEmpty());
}

TEST(GroupBinder, WhatWasNotShownStaysForTheNextEpoch) {
  const auto data = MakeBinderData({100}, 40, 10, true);
  const auto binder = MakeChecked(*data);
  Fill(*binder);
  const std::set<uint32_t> before = binder->here();
  binder->BeginEpoch(Epoch(1), {});
  EXPECT_EQ(binder->here(), before);
  for (uint32_t name = 0; name < 40; ++name) {
    EXPECT_EQ(before.count(binder->Bind(name)), 1);
  }
}

TEST(GroupBinder, RecoveredPairsAreNotFetched) {
  const auto data = MakeBinderData(Sizes(2, 50), 200, 10, true);
  const auto binder = MakeChecked(*data);
  std::vector<NameBinding> pairs;
  for (uint64_t i = 0; i < 20; ++i) pairs.push_back({i, 49 - i});
  binder->BeginEpoch(Epoch(3), pairs);
  Fill(*binder);
  for (const NameBinding& pair : pairs) {
    const SampleId sample(pair.sample);
    // For the epoch after, if at all.
    EXPECT_EQ(binder->here().count(static_cast<uint32_t>(pair.sample)) > 0,
              binder->binder().fetched_ahead(sample));
  }
  EXPECT_EQ(binder->here().size(), 100);
  for (const NameBinding& pair : pairs) {
    EXPECT_EQ(binder->Bind(static_cast<uint32_t>(pair.name)), pair.sample);
  }
  for (uint32_t name = 0; name < 100; ++name) binder->Bind(name);
  binder->ExpectBijection();
}

TEST(GroupBinder, AnotherEpochComesInAnotherOrderAndTheSameInTheSame) {
  const auto data = MakeBinderData(Sizes(5, 100), 500, 10, true);
  const auto order = [&](uint64_t seed, uint64_t epoch) {
    GroupBinder binder(data->input);
    binder.BeginEpoch(Seed(seed), Epoch(epoch), {});
    std::vector<SampleId> all;
    while (!binder.fetched_all()) {
      const std::vector<SampleId> next = binder.NextFetch(100000);
      all.insert(all.end(), next.begin(), next.end());
    }
    EXPECT_EQ(all.size(), 500);
    return all;
  };
  EXPECT_EQ(order(1, 1), order(1, 1));
  EXPECT_NE(order(1, 1), order(1, 2));
  EXPECT_NE(order(1, 1), order(2, 1));
}

TEST(GroupBinder, WithoutSamples) {
  const auto data = MakeBinderData({}, 10, 10, true);
  GroupBinder binder(data->input);
  EXPECT_TRUE(binder.fetched_all());
  EXPECT_THAT(binder.NextFetch(1000), IsEmpty());
  binder.BeginEpoch(Seed(1), Epoch(1), {});
  EXPECT_THAT(binder.NextFetch(1000), IsEmpty());
}

}  // namespace
}  // namespace shufflefs
