// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/watch/rate_text.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

constexpr char kTitles[] =
    "POLICY      EPOCH DONE SAMPLES/S   MIB/S  SOURCE WAIT HITS  ENDS IN  "
    "MOUNT\n";

std::string One(const std::string& view) {
  return R"({"views":[{"name":"root","policy":"brand",)" + view + "}]}";
}

std::string Prefetched(const std::string& shares) {
  return R"({"views":[{"name":"root","policy":"clairvoyant","hits":null,"clairvoyant":)" +
         shares + "}]}";
}

std::string Lines(const std::string& before, const std::string& after,
                  double seconds) {
  return RateLines("/mnt", StatusSample{before, 100},
                   StatusSample{after, 100 + seconds})
      .value_or("no status");
}

TEST(RateLinesTest, AreWhatGrewPerSecond) {
  const std::string before =
      One(R"("epoch":3,"samples":10000,"consumed":1000,"served_bytes":0,
            "source_bytes":1048576,"stall_seconds":1.0,"consumer_seconds":9.0,
            "hits":10,"misses":90)");
  const std::string after = One(R"("epoch":3,"samples":10000,"consumed":4000,
            "served_bytes":5242880,"source_bytes":3145728,"stall_seconds":1.5,
            "consumer_seconds":10.5,"hits":40,"misses":100)");
  EXPECT_EQ(RateTitles() + Lines(before, after, 2),
            std::string(kTitles) +
                "brand           3  40%     1,500     2.5     1.0  25%  75%  "
                "0:00:04  /mnt\n");
}

TEST(RateLinesTest, AMountCannotWriteToTheTerminal) {
  const std::string status =
      R"({"views":[{"name":"a\u001b[2J","policy":"p\u0007\nq","epoch":1},
                   {"name":"b","policy":"lirs","epoch":1}]})";
  const std::string text = Lines(status, status, 1);
  EXPECT_EQ(text.find_first_of("\x1b\a"), std::string::npos);
  EXPECT_THAT(text, ::testing::HasSubstr("p??q"));
  EXPECT_THAT(text, ::testing::HasSubstr("/mnt a?[2J\n"));
}

TEST(RateLinesTest, TheEndIsInHours) {
  const std::string after =
      One(R"("epoch":0,"samples":1000000,"consumed":100)");
  EXPECT_EQ(Lines(One(R"("epoch":0,"consumed":0)"), after, 10),
            "brand           0   0%        10       -       -    -    - "
            "27:46:30  /mnt\n");
}

// Of an epoch that began meanwhile it is not known how much of the last one was
// read.
TEST(RateLinesTest, WhatIsNotKnownIsLeftOut) {
  const std::string unknown =
      "brand           4  10%         -       -       -    -    -        -  "
      "/mnt\n";
  const std::string after = One(R"("epoch":4,"samples":10,"consumed":1)");
  EXPECT_EQ(Lines(One(R"("epoch":3,"samples":10,"consumed":0)"), after, 1),
            unknown);
  EXPECT_EQ(Lines("", after, 1), unknown);
  EXPECT_EQ(Lines(One(R"("epoch":4,"samples":10,"consumed":5)"), after, 1),
            unknown);
  EXPECT_EQ(Lines(after, after, 0), unknown);
  EXPECT_EQ(*RateLines("/mnt", absl::nullopt, StatusSample{after, 7}), unknown);
  EXPECT_EQ(Lines(after, One(R"("epoch":"x","consumed":null)"), 1),
            "brand           -    -         -       -       -    -    -        "
            "-  /mnt\n");
  EXPECT_FALSE(RateLines("/mnt", absl::nullopt, StatusSample{"", 0}).ok());
}

TEST(RateLinesTest, NothingIsReadWhileNobodyReads) {
  const std::string idle =
      One(R"("epoch":0,"samples":10,"consumed":10,"served_bytes":9,
            "hits":3,"misses":3)");
  EXPECT_EQ(Lines(idle, idle, 2),
            "brand           0 100%         0     0.0       -    -    -        "
            "-  /mnt\n");
}

TEST(RateLinesTest, EachViewHasALine) {
  const std::string before =
      R"({"views":[{"name":"b","epoch":1,"consumed":5}]})";
  const std::string after =
      R"({"views":[{"name":"a"},7,{"name":"b","epoch":1,"consumed":9}]})";
  EXPECT_EQ(Lines(before, after, 2),
            "                -    -         -       -       -    -    -        "
            "-  /mnt a\n"
            "                1    -         2       -       -    -    -        "
            "-  /mnt b\n");
}

TEST(RateLinesTest, HitsOfClairvoyantAreWhatWasReady) {
  EXPECT_THAT(Lines(Prefetched(R"({"ready":1,"opens":4})"),
                    Prefetched(R"({"ready":10,"opens":14})"), 1),
              ::testing::HasSubstr("  90%        -  /mnt\n"));
}

}  // namespace
}  // namespace shufflefs
