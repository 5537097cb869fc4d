// SPDX-License-Identifier: Apache-2.0
// Who was sent back, and what it has looked up since.
#include "core/epoch/sent_back.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

std::vector<SampleId> LookedUp(SentBack& sent_back) {
  std::vector<SampleId> samples;
  sent_back.AppendLookedUp(samples);
  return samples;
}

TEST(SentBackTest, OnlyTheNextOpenIsTheSecondTry) {
  SentBack sent_back;
  sent_back.Add(1);
  EXPECT_FALSE(sent_back.Take(2));
  EXPECT_TRUE(sent_back.Take(1));
  EXPECT_FALSE(sent_back.Take(1));
  EXPECT_FALSE(sent_back.Take(0)) << "a hidden thread is none";
}

TEST(SentBackTest, TellsOnceWhatWasLookedUpSince) {
  SentBack sent_back;
  sent_back.NoteLookup(SampleId(5), 1);
  sent_back.Add(1);
  sent_back.Add(2);
  EXPECT_THAT(LookedUp(sent_back), ::testing::IsEmpty());
  sent_back.NoteLookup(SampleId(6), 1);
  sent_back.NoteLookup(SampleId(7), 1);
  sent_back.NoteLookup(SampleId(8), 3);
  EXPECT_THAT(LookedUp(sent_back), ::testing::ElementsAre(SampleId(7)));
  EXPECT_THAT(LookedUp(sent_back), ::testing::IsEmpty());
  EXPECT_TRUE(sent_back.Take(1));
  EXPECT_TRUE(sent_back.Take(2));
}

// A second call before its open takes nothing away of what it has looked up.
TEST(SentBackTest, WhoIsSentBackTwiceKeepsItsLookup) {
  SentBack sent_back;
  sent_back.Add(1);
  sent_back.NoteLookup(SampleId(6), 1);
  sent_back.Add(1);
  EXPECT_THAT(LookedUp(sent_back), ::testing::ElementsAre(SampleId(6)));
}

TEST(SentBackTest, IsBounded) {
  SentBack sent_back;
  for (uint32_t reader = 1; reader <= SentBack::kMost; ++reader) {
    sent_back.Add(reader);
  }
  sent_back.NoteLookup(SampleId(6), 1);
  EXPECT_THAT(LookedUp(sent_back), ::testing::ElementsAre(SampleId(6)));
  sent_back.Add(SentBack::kMost + 1);
  EXPECT_FALSE(sent_back.Take(1));
  EXPECT_FALSE(sent_back.Take(SentBack::kMost));
  EXPECT_TRUE(sent_back.Take(SentBack::kMost + 1));
}

}  // namespace
}  // namespace shufflefs
