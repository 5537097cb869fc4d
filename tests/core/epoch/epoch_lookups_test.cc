// SPDX-License-Identifier: Apache-2.0
#include "core/epoch/epoch_lookups.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "core/base/published.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

using Told = EpochLookups::Told;

TEST(EpochLookupsTest, RemembersWhatWasLookedUpUntilNamesAreBoundAnew) {
  EpochLookups lookups(100);
  EXPECT_EQ(lookups.Note(SampleId(7), 1), Told::kForLong);
  EXPECT_TRUE(lookups.TakeLookup(SampleId(7)));
  EXPECT_FALSE(lookups.TakeLookup(SampleId(8)));
  EXPECT_TRUE(lookups.TakeLookup(SampleId(8))) << "it was opened";
  EpochLookups next(lookups);
  EXPECT_FALSE(next.TakeLookup(SampleId(7)));
}

TEST(EpochLookupsTest, WhereNobodyWantsToKnowTheyAreClosedAllTheSame) {
  EpochLookups lookups(0);
  EXPECT_FALSE(lookups.wanted());
  EXPECT_EQ(lookups.Note(SampleId(7), 1), Told::kForLong);
  EXPECT_FALSE(lookups.WaitIfClosed());
  lookups.Close();
  EXPECT_EQ(lookups.Note(SampleId(7), 1), Told::kNothing);
  lookups.Reopen();
  EXPECT_EQ(lookups.Note(SampleId(7), 1), Told::kForLong);
}

TEST(EpochLookupsTest, NothingIsToldOfAnEpochThatEnds) {
  EpochLookups lookups(100);
  lookups.ShowWalks(true);
  EXPECT_EQ(lookups.Note(SampleId(7), 1), Told::kOnce);
  lookups.SendBack(2);
  EXPECT_EQ(lookups.Note(SampleId(8), 2), Told::kOnce);
  EXPECT_EQ(lookups.CloseAndTakeUnderWay(),
            (std::vector{SampleId(8), SampleId(7), SampleId(8)}));
  EXPECT_EQ(lookups.Note(SampleId(9), 1), Told::kNothing);
  EXPECT_EQ(lookups.Note(SampleId(9), 2), Told::kNothing);
  EpochLookups next(lookups);
  EXPECT_TRUE(next.TakeSecondTry(2));
  EXPECT_FALSE(next.TakeSecondTry(2));
}

TEST(EpochLookupsTest, WhoFindsThemClosedWaitsForTheNext) {
  EpochLookups lookups(100);
  lookups.Close();
  std::thread waits([&] { EXPECT_TRUE(lookups.WaitIfClosed()); });
  lookups.End();
  waits.join();
  EXPECT_TRUE(lookups.WaitIfClosed()) << "for good";
}

// Threads that look up and then open, and boundaries at any moment: what a
// thread was told of, and opens after a boundary, that boundary has retained.
class StraddlersTest : public testing::Test {
 protected:
  static constexpr uint64_t kSamples = 1000;
  struct Epoch {
    uint64_t number = 0;
    std::shared_ptr<EpochLookups> lookups;
  };

  StraddlersTest() { Begin(std::make_shared<EpochLookups>(kSamples)); }

  void Begin(std::shared_ptr<EpochLookups> lookups) {
    lookups->ShowWalks(true);
    published_.Set(
        std::make_shared<const Epoch>(Epoch{retained_.size(), lookups}));
  }

  void Boundary() {
    MutexLock lock(mu_);
    const std::shared_ptr<const Epoch> before = published_.Get();
    std::set<uint64_t>& retained = retained_.emplace_back();
    for (const SampleId sample : before->lookups->CloseAndTakeUnderWay()) {
      retained.insert(sample.value());
    }
    Begin(std::make_shared<EpochLookups>(*before->lookups));
    before->lookups->End();
  }

  // Returns the number of the epoch in which the thread was told.
  uint64_t LookUp(SampleId sample, uint32_t reader) {
    for (;;) {
      const std::shared_ptr<const Epoch> live = published_.Get();
      if (live->lookups->WaitIfClosed()) continue;
      if (live->lookups->Note(sample, reader) == Told::kNothing) continue;
      return live->number;
    }
  }

  void Open(SampleId sample, uint32_t reader, uint64_t told) {
    MutexLock lock(mu_);
    const std::shared_ptr<const Epoch> live = published_.Get();
    if (told == live->number) {
      EXPECT_GE(live->lookups->TakeWalks(sample, reader), 1u);
      EXPECT_TRUE(live->lookups->TakeLookup(sample));
    } else {
      EXPECT_TRUE(retained_[told].contains(sample.value()));
      ++straddled_;
    }
  }

  Mutex mu_;
  Published<Epoch> published_;
  std::vector<std::set<uint64_t>> retained_;  // by the epoch that ended
  uint64_t straddled_ = 0;
};

TEST_F(StraddlersTest, AreAllRetained) {
  std::vector<std::thread> threads;
  std::atomic<int> reading{6};
  for (uint32_t reader = 1; reader <= 6; ++reader) {
    threads.emplace_back([this, reader, &reading] {
      std::mt19937 random(reader);
      for (int i = 0; i < 3000; ++i) {
        const SampleId sample(random() % kSamples);
        const uint64_t told = LookUp(sample, reader);
        if (random() % 8 == 0) std::this_thread::yield();
        Open(sample, reader, told);
      }
      --reading;
    });
  }
  for (int i = 0; i < 500 || reading > 0; ++i) {
    Boundary();
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(straddled_, 0u);
}

}  // namespace
}  // namespace shufflefs
