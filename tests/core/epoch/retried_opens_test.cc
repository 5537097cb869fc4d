// SPDX-License-Identifier: Apache-2.0
// Which threads retry their open, and what they have looked up since.
#include "core/epoch/retried_opens.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

std::vector<SampleId> LookedUp(RetriedOpens& retried) {
  std::vector<SampleId> samples;
  retried.AppendLookedUp(samples);
  return samples;
}

TEST(RetriedOpensTest, OnlyTheNextOpenIsTheSecondTry) {
  RetriedOpens retried;
  retried.Add(1);
  EXPECT_FALSE(retried.Take(2));
  EXPECT_TRUE(retried.Take(1));
  EXPECT_FALSE(retried.Take(1));
  EXPECT_FALSE(retried.Take(0)) << "a hidden thread is none";
}

TEST(RetriedOpensTest, TellsOnceWhatWasLookedUpSince) {
  RetriedOpens retried;
  retried.NoteLookup(SampleId(5), 1);
  retried.Add(1);
  retried.Add(2);
  EXPECT_THAT(LookedUp(retried), ::testing::IsEmpty());
  retried.NoteLookup(SampleId(6), 1);
  retried.NoteLookup(SampleId(7), 1);
  retried.NoteLookup(SampleId(8), 3);
  EXPECT_THAT(LookedUp(retried), ::testing::ElementsAre(SampleId(7)));
  EXPECT_THAT(LookedUp(retried), ::testing::IsEmpty());
  EXPECT_TRUE(retried.Take(1));
  EXPECT_TRUE(retried.Take(2));
}

// A second call before its open takes nothing away of what it has looked up.
TEST(RetriedOpensTest, WhoIsSentBackTwiceKeepsItsLookup) {
  RetriedOpens retried;
  retried.Add(1);
  retried.NoteLookup(SampleId(6), 1);
  retried.Add(1);
  EXPECT_THAT(LookedUp(retried), ::testing::ElementsAre(SampleId(6)));
}

TEST(RetriedOpensTest, IsBounded) {
  RetriedOpens retried;
  for (uint32_t reader = 1; reader <= RetriedOpens::kMost; ++reader) {
    retried.Add(reader);
  }
  retried.NoteLookup(SampleId(6), 1);
  EXPECT_THAT(LookedUp(retried), ::testing::ElementsAre(SampleId(6)));
  retried.Add(RetriedOpens::kMost + 1);
  EXPECT_FALSE(retried.Take(1));
  EXPECT_FALSE(retried.Take(RetriedOpens::kMost));
  EXPECT_TRUE(retried.Take(RetriedOpens::kMost + 1));
}

}  // namespace
}  // namespace shufflefs
