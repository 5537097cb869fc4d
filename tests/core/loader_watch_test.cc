// SPDX-License-Identifier: Apache-2.0
#include "core/clairvoyant/loader_watch.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace shufflefs {
namespace {

// What is told when so many opens came, each loader's in turn; of loader i
// expected[i] of a hundred were to be expected.
std::vector<LoaderWatch::Loader> After(uint32_t opens,
                                       const std::vector<uint32_t>& expected) {
  LoaderWatch watch;
  for (uint32_t i = 0; i < opens; ++i) {
    const uint32_t loader = i % expected.size();
    const auto apart =
        watch.Note(100 + loader, {i, loader},
                   i / expected.size() * 37 % 100 < expected[loader]);
    if (!apart.empty()) return apart;
  }
  return {};
}

TEST(LoaderWatchTest, TwoOfWhichNothingIsKnownAreJobs) {
  EXPECT_TRUE(After(255, {0, 0}).empty());
  const auto apart = After(256, {0, 0});
  ASSERT_EQ(apart.size(), 2u);
  for (uint32_t i = 0; i < 2; ++i) {
    EXPECT_EQ(apart[i].process, 100 + i);
    EXPECT_FALSE(apart[i].is_followed());
    ASSERT_EQ(apart[i].opens.size(), 128u);
    EXPECT_EQ(apart[i].opens[5].index, 10 + i);
    EXPECT_EQ(apart[i].opens[5].thread, i);
  }
}

TEST(LoaderWatchTest, OneBesideTheOneThatIsFollowedIsAJob) {
  const auto apart = After(256, {97, 2});
  ASSERT_EQ(apart.size(), 2u);
  EXPECT_TRUE(apart[0].is_followed());
  EXPECT_FALSE(apart[1].is_followed());
}

TEST(LoaderWatchTest, RanksAreOneJob) {
  EXPECT_TRUE(After(100000, {97, 90, 60, 99}).empty());
}

TEST(LoaderWatchTest, OneLoaderIsOneJobWhateverItReads) {
  EXPECT_TRUE(After(100000, {0}).empty());
}

TEST(LoaderWatchTest, ManyNeedMoreOpens) {
  EXPECT_TRUE(After(511, {0, 0, 0, 0, 0, 0}).empty());
  EXPECT_EQ(After(512, {0, 0, 0, 0, 0, 0}).size(), 6u);
}

TEST(LoaderWatchTest, AGlanceIsNoJob) {
  LoaderWatch watch;
  for (uint32_t i = 0; i < 100000; ++i) {
    const uint32_t loader = i % 50 == 0 ? 1 : 0;
    EXPECT_TRUE(watch.Note(loader, {i, loader}, loader == 0).empty());
  }
}

TEST(LoaderWatchTest, OneThatBeginsLaterIsSeen) {
  LoaderWatch watch;
  bool apart = false;
  for (uint32_t i = 0; i < 10000 && !apart; ++i) {
    const uint32_t loader = i > 5000 ? i % 2 : 0;
    apart = !watch.Note(loader, {i, loader}, loader == 0).empty();
  }
  EXPECT_TRUE(apart);
}

}  // namespace
}  // namespace shufflefs
