// SPDX-License-Identifier: Apache-2.0
#include "core/formats/tar/tar_names.h"

#include <algorithm>
#include <string>

#include "gmock/gmock.h"
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

TEST(TarNamesTest, TheHeadCountsForTheBoundAndForRepeats) {
  TarNames names(3);
  EXPECT_TRUE(names.RememberName("README").ok());
  EXPECT_TRUE(names.RememberName("LICENSE").ok());
  names.EndHead();
  EXPECT_EQ(names.RememberName("README"),
            Refusal("the name 'README' comes again"));
  EXPECT_TRUE(names.RememberKey("a").ok());
  EXPECT_EQ(names.RememberKey("b"), Refusal("it has more than 3 records"));
  EXPECT_EQ(names.RememberName("LICENSE"),
            Refusal("the name 'LICENSE' comes again"));
  EXPECT_EQ(names.RememberKey("a"), Refusal("the key 'a' comes again"));
  EXPECT_EQ(names.Take().size(), 1u);
  EXPECT_TRUE(names.Take().empty());
}

TEST(TarNamesTest, EqualNamesHaveEqualHashesInOrder) {
  TarNames one;
  TarNames other;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(one.RememberKey(std::to_string(i)).ok());
    ASSERT_TRUE(other.RememberKey("./" + std::to_string(999 - i)).ok());
  }
  const NameHashes names = one.Take();
  EXPECT_EQ(names.size(), 1000u);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(other.Take(), names);
  // A key is no name.
  ASSERT_TRUE(other.RememberName("7").ok());
  EXPECT_THAT(names, testing::Not(testing::Contains(other.Take().at(0))));
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
