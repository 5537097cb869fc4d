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
  EXPECT_EQ(names.RememberKey("b"), Refusal("a key comes again"));
}

TEST(TarNamesTest, TheHeadCountsForTheBoundAndForRepeats) {
  TarNames names(3);
  EXPECT_TRUE(names.RememberName("README").ok());
  EXPECT_TRUE(names.RememberName("LICENSE").ok());
  names.EndHead();
  EXPECT_EQ(names.RememberName("README"), Refusal("a name comes again"));
  EXPECT_TRUE(names.RememberKey("a").ok());
  EXPECT_EQ(names.RememberKey("b"), Refusal("it has more than 3 records"));
  EXPECT_EQ(names.RememberName("LICENSE"), Refusal("a name comes again"));
  EXPECT_EQ(names.RememberKey("a"), Refusal("a key comes again"));
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

// Where a file comes last, and where it moves with a record.
TEST(TarNamesTest, NamesBehindTheLastRecordAreMarked) {
  TarNames names;
  ASSERT_TRUE(names.RememberName("README").ok());
  names.EndHead();
  for (const char* key : {"1", "2"}) {
    ASSERT_TRUE(names.RememberName(std::string("in front of ") + key).ok());
    ASSERT_TRUE(names.RememberKey(key).ok());
    names.EndRecord();
  }
  ASSERT_TRUE(names.RememberName("LICENSE").ok());
  EXPECT_FALSE(names.RememberName("LICENSE").ok());
  const NameHashes marked = names.Take();
  EXPECT_EQ(marked.size(), 5u);
  EXPECT_EQ(std::count_if(marked.begin(), marked.end(),
                          [](uint64_t name) { return name & kNameStays; }),
            1);
  TarNames moving;
  ASSERT_TRUE(moving.RememberName("LICENSE").ok());
  ASSERT_TRUE(moving.RememberKey("3").ok());
  moving.EndRecord();
  const auto has = [&](uint64_t name) {
    return std::find(marked.begin(), marked.end(), name) != marked.end();
  };
  for (const uint64_t name : moving.Take()) {
    EXPECT_EQ(name & kNameStays, 0u);
    EXPECT_FALSE(has(name));
  }
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
