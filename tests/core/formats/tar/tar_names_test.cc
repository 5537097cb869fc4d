// SPDX-License-Identifier: Apache-2.0
#include "core/formats/tar/tar_names.h"

#include <string>

#include "gtest/gtest.h"

namespace shufflefs {
namespace {

absl::Status Refusal(absl::string_view why) {
  return absl::FailedPreconditionError(why);
}

// An archive of any number of members takes no more memory than that.
TEST(TarNamesTest, NoMoreAreRememberedThanTheBound) {
  TarNames names(3);
  EXPECT_TRUE(names.RememberKey("a").ok());
  EXPECT_TRUE(names.RememberName("README").ok());
  EXPECT_TRUE(names.RememberKey("b").ok());
  EXPECT_EQ(names.RememberKey("c"), Refusal("it has more than 3 records"));
  EXPECT_EQ(names.RememberName("LICENSE"),
            Refusal("it has more than 3 records"));
  EXPECT_EQ(names.RememberKey("b"), Refusal("the key 'b' comes again"));
}

// Those of a large archive: ImageNet-21k as one has 14 million.
TEST(TarNamesTest, TheBoundIsBeyondWhatIsPacked) {
  EXPECT_GT(TarNames::kMost, 20'000'000u);
  TarNames names;
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_TRUE(names.RememberKey("n/" + std::to_string(i)).ok());
  }
}

}  // namespace
}  // namespace shufflefs
