// SPDX-License-Identifier: Apache-2.0
#include "core/sampler/loader_tracker.h"

#include <cstdint>
#include <vector>

#include "core/sampler/search/torch_random.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

constexpr uint32_t kFilesAtMost = 10000;
constexpr LoaderTracker::Moment kFollowed{0, 1};

// What is told when so many opens came, each loader's in turn; of loader i
// expected[i] of a hundred were to be expected.
std::vector<LoaderTracker::Loader> After(
    uint32_t opens, const std::vector<uint32_t>& expected) {
  LoaderTracker tracker(kFilesAtMost);
  for (uint32_t i = 0; i < opens; ++i) {
    const uint32_t loader = i % expected.size();
    const OpenStep step = i / expected.size() * 37 % 100 < expected[loader]
                              ? OpenStep::kExpected
                              : OpenStep::kUnexpected;
    const auto apart =
        tracker.Note(100 + loader, {i % kFilesAtMost, loader}, step, kFollowed);
    if (!apart.empty()) return apart;
  }
  return {};
}

TEST(LoaderTrackerTest, OneBesideTheOneThatIsFollowedIsAJob) {
  EXPECT_TRUE(After(62, {97, 2}).empty());
  const auto apart = After(128, {97, 2});
  ASSERT_EQ(apart.size(), 2u);
  EXPECT_TRUE(apart[0].is_followed());
  EXPECT_FALSE(apart[1].is_followed());
  for (uint32_t i = 0; i < 2; ++i) {
    EXPECT_EQ(apart[i].process, 100 + i);
    EXPECT_EQ(apart[i].opens[5].index, 10 + i);
    EXPECT_EQ(apart[i].opens[5].thread, i);
  }
}

TEST(LoaderTrackerTest, RanksAreOneJob) {
  EXPECT_TRUE(After(100000, {97, 90, 60, 99}).empty());
}

TEST(LoaderTrackerTest, OneLoaderIsOneJobWhateverItReads) {
  EXPECT_TRUE(After(100000, {0}).empty());
}

TEST(LoaderTrackerTest, WhereNobodyIsFollowedNobodyIsAstray) {
  EXPECT_TRUE(After(kFilesAtMost, {30, 0, 10}).empty());
}

TEST(LoaderTrackerTest, AGlanceIsNoJob) {
  LoaderTracker tracker(kFilesAtMost);
  for (uint32_t i = 0; i < 100000; ++i) {
    const uint32_t loader = i % 50 == 0 ? 1 : 0;
    EXPECT_TRUE(
        tracker
            .Note(loader, {i % kFilesAtMost, loader},
                  loader == 0 ? OpenStep::kExpected : OpenStep::kUnexpected,
                  kFollowed)
            .empty());
  }
}

TEST(LoaderTrackerTest, OneThatBeginsLaterIsSeen) {
  LoaderTracker tracker(kFilesAtMost);
  bool apart = false;
  for (uint32_t i = 0; i < 8000 && !apart; ++i) {
    const uint32_t loader = i > 5000 ? i % 2 : 0;
    apart =
        !tracker
             .Note(loader, {i, loader},
                   loader == 0 ? OpenStep::kExpected : OpenStep::kUnexpected,
                   kFollowed)
             .empty();
  }
  EXPECT_TRUE(apart);
}

// What was expected of an order that is given up tells nothing of the next.
TEST(LoaderTrackerTest, AnotherOrderJudgesAnew) {
  LoaderTracker tracker(kFilesAtMost);
  for (uint32_t i = 0; i < 20; ++i) {
    EXPECT_TRUE(
        tracker.Note(1, {i, 1}, OpenStep::kExpected, kFollowed).empty());
  }
  for (uint32_t i = 0; i < 40; ++i) {
    EXPECT_TRUE(
        tracker.Note(2, {900 + i, 2}, OpenStep::kUnexpected, {0, 2}).empty());
  }
}

// After how many opens of each of two loaders they are told apart; 0: never.
uint32_t ToldApart(uint32_t files, uint64_t epochs,
                   const std::vector<uint32_t>& one,
                   const std::vector<uint32_t>& other) {
  LoaderTracker tracker(files);
  for (uint64_t epoch = 0; epoch < epochs; ++epoch) {
    for (uint32_t i = 0; i < one.size(); ++i) {
      for (const auto* order : {&one, &other}) {
        const uint32_t loader = order == &one ? 1 : 2;
        const auto apart = tracker.Note(loader, {(*order)[i], loader},
                                        OpenStep::kUnjudged, {epoch, 0});
        if (apart.empty()) continue;
        EXPECT_EQ(apart.size(), 2u);
        EXPECT_FALSE(apart[0].is_followed() || apart[1].is_followed());
        EXPECT_LE(apart[0].opens.size() - apart[1].opens.size(), 1u);
        return i + 1;
      }
    }
  }
  return 0;
}

TEST(LoaderTrackerTest, ShufflesOfTheirOwnShareWhatTheyRead) {
  for (const uint32_t files : {256U, 1200U, 20000U, 1281167U}) {
    for (uint32_t seed = 0; seed < 20; ++seed) {
      const uint32_t opens =
          ToldApart(files, 1, TorchRandperm(files, 100 + seed),
                    TorchRandperm(files, 200 + seed));
      EXPECT_GT(opens, 0u) << files << ", seed " << seed;
      // sqrt(16 n), or a little later.
      EXPECT_LE(uint64_t{opens} * opens, 24 * files)
          << files << ", seed " << seed;
    }
  }
}

TEST(LoaderTrackerTest, RanksOfAnOrderThatNobodyKnowsShareNothing) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    std::vector<uint32_t> ranks[2];
    const std::vector<uint32_t> order = TorchRandperm(kFilesAtMost, seed);
    for (uint32_t i = 0; i < kFilesAtMost; ++i)
      ranks[i % 2].push_back(order[i]);
    EXPECT_EQ(ToldApart(kFilesAtMost, 3, ranks[0], ranks[1]), 0u)
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace shufflefs
