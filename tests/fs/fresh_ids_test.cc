// SPDX-License-Identifier: Apache-2.0
#include "fs/model/fresh_ids.h"

#include "absl/container/flat_hash_set.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

TEST(FreshIdsTest, AreNumberedFromOne) {
  const absl::flat_hash_set<uint32_t> none;
  FreshIds ids;
  EXPECT_EQ(ids.Next(none), 1u);
  EXPECT_EQ(ids.Next(none), 2u);
}

// A reader that holds an old node must not get what a new one shows.
TEST(FreshIdsTest, NoNumberThatSomebodyHasIsGivenAgain) {
  absl::flat_hash_set<uint32_t> taken = {0xFFFFFFFE, 1, 2, 4};
  FreshIds ids(0xFFFFFFFD);
  for (const uint32_t expected : {0xFFFFFFFDu, 0xFFFFFFFFu, 3u, 5u, 6u}) {
    const uint32_t id = ids.Next(taken);
    EXPECT_EQ(id, expected);
    EXPECT_TRUE(taken.insert(id).second);
  }
}

}  // namespace
}  // namespace shufflefs
