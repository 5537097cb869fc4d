// SPDX-License-Identifier: Apache-2.0
#include "peers/members/hostlist.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs::peers {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> Expand(const std::string& list) {
  const absl::StatusOr<std::vector<std::string>> hosts = ExpandHostlist(list);
  EXPECT_TRUE(hosts.ok()) << list << ": " << hosts.status();
  return hosts.ok() ? *hosts : std::vector<std::string>();
}

TEST(HostlistTest, ExpandsRangesInOrder) {
  EXPECT_THAT(Expand("node[01-03,7],login1"),
              ElementsAre("node01", "node02", "node03", "node7", "login1"));
  EXPECT_THAT(Expand("n[9-11]"), ElementsAre("n9", "n10", "n11"));
  EXPECT_THAT(Expand("n[098-101]x"),
              ElementsAre("n098x", "n099x", "n100x", "n101x"));
  EXPECT_THAT(Expand("r[1-2]n[3-4]"),
              ElementsAre("r1n3", "r1n4", "r2n3", "r2n4"));
  EXPECT_THAT(Expand("one"), ElementsAre("one"));
  EXPECT_THAT(Expand("b,a"), ElementsAre("b", "a"));
  EXPECT_THAT(Expand(""), ElementsAre());
}

TEST(HostlistTest, NonsenseIsRefused) {
  for (const std::string list :
       {"n[1-", "n]1[", "n[1-2]]", "n[[1-2]]", "n[2-1]", "n[]", "n[a-b]",
        "n[1,,2]", "n[-1]", "n[1-2-3]", "n[1-9999999999]"}) {
    const absl::Status status = ExpandHostlist(list).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << list << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("host list: \""));
  }
}

TEST(HostlistTest, AHugeListTakesNoMemory) {
  for (const std::string list :
       {"n[0-999999999]", "n[1-60000,1-60000]", "n[1-999]x[1-999]x[1-999]",
        "n[1-65536],m[1-65536]", "n[1][1][1][1][1][1][1][1][1]"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ExpandHostlist(list).status())) << list;
  }
  EXPECT_EQ(Expand("n[1-65536]").size(), 65536u);
}

}  // namespace
}  // namespace shufflefs::peers
