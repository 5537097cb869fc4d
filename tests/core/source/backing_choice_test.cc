// SPDX-License-Identifier: Apache-2.0
#include "core/source/backing_choice.h"

#include "core/view/opens_seen.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

TEST(BackingChoiceTest, FilesOfFourMebibytesOnAverageAreLarge) {
  BackingFacts facts{.files = 3, .bytes = 3 * kLeastBackedBytes};
  EXPECT_TRUE(ChooseBacking(facts).on);
  EXPECT_EQ(ChooseBacking(facts).why, "files have 4096 KiB on average");
  --facts.bytes;
  EXPECT_FALSE(ChooseBacking(facts).on);
  EXPECT_EQ(ChooseBacking(facts).why,
            "files have 4095 KiB on average, less than 4096 KiB");
}

TEST(BackingChoiceTest, ARefusalIsTheReason) {
  const BackingFacts facts{.files = 1, .bytes = 1 << 30, .refused = "no"};
  EXPECT_FALSE(ChooseBacking(facts).on);
  EXPECT_EQ(ChooseBacking(facts).why, "no");
}

TEST(BackingChoiceTest, NoFilesAreNotLarge) {
  EXPECT_FALSE(ChooseBacking({}).on);
}

TEST(BackingChoiceTest, OpensAreAnsweredForTheSakeOfBackingFiles) {
  using By = OpensSeen::By;
  const auto how = [](OpenMode mode, bool backing) {
    return HowOpensAreSeen(mode, {}, {.backing = backing}).by;
  };
  EXPECT_EQ(how(OpenMode::kAuto, false), By::kNothing);
  EXPECT_EQ(how(OpenMode::kAuto, true), By::kRequests);
  EXPECT_EQ(how(OpenMode::kUnseen, true), By::kNothing);
  EXPECT_EQ(how(OpenMode::kObserved, true), By::kReports);
}

}  // namespace
}  // namespace shufflefs
