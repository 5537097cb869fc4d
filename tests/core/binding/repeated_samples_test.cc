// SPDX-License-Identifier: Apache-2.0
#include "core/binding/nodes/repeated_samples.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(RepeatedSamplesTest, TheWarningSaysHowManyAndWhy) {
  RepeatedSamples samples;
  EXPECT_EQ(samples.Warning(), "");
  samples.NoteUnknown(0);
  EXPECT_EQ(samples.Warning(), "");
  EXPECT_TRUE(samples.NoteShownOwn());
  EXPECT_FALSE(samples.NoteShownOwn());
  EXPECT_THAT(samples.Warning(),
              AllOf(HasSubstr("up to 2 samples"), HasSubstr("owner of 2 names"),
                    Not(HasSubstr("before"))));
  samples.NoteUnknown(3);
  EXPECT_THAT(samples.Warning(),
              AllOf(HasSubstr("up to 5 samples"), HasSubstr("owner of 2 names"),
                    HasSubstr("3 may have been shown before")));
}

}  // namespace
}  // namespace shufflefs
