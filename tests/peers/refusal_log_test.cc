// SPDX-License-Identifier: Apache-2.0
#include "peers/transport/refusal_log.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs::peers {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

class RefusalLogTest : public testing::Test {
 protected:
  std::vector<std::string> lines_;
  RefusalLog log_{
      [this](LogLevel, const std::string& line) { lines_.push_back(line); }};
};

TEST_F(RefusalLogTest, SaysEachThingOnce) {
  for (int i = 0; i < 3; ++i) {
    log_.Write({.name = "n1", .host = "ipv4:10.0.0.1"}, "why");
    log_.Write({.name = "n1", .host = "ipv4:10.0.0.1"}, "why else");
  }
  EXPECT_THAT(lines_,
              ElementsAre("peers: refused n1 (ipv4:10.0.0.1): why",
                          "peers: refused n1 (ipv4:10.0.0.1): why else"));
}

TEST_F(RefusalLogTest, StrangersOfOneAddressHideNobody) {
  for (int i = 0; i < 300; ++i) {
    log_.Write({.name = absl::StrCat("made up ", i), .host = "ipv4:10.0.0.9"},
               "no");
  }
  EXPECT_THAT(lines_, SizeIs(16));
  lines_.clear();
  log_.Write({.name = "n1", .host = "ipv4:10.0.0.1"}, "why");
  // Even of that address, who has the secret is somebody else.
  log_.Write({.name = "n2", .host = "ipv4:10.0.0.9", .proven = true}, "why");
  EXPECT_THAT(lines_, ElementsAre("peers: refused n1 (ipv4:10.0.0.1): why",
                                  "peers: refused n2 (ipv4:10.0.0.9): why"));
}

TEST_F(RefusalLogTest, StrangersOfManyAddressesHideNoMember) {
  for (int i = 0; i < 1000; ++i) {
    log_.Write({.name = "n", .host = absl::StrCat("ipv6:", i)}, "no");
  }
  EXPECT_LE(lines_.size(), 512u);
  log_.Write({.name = "n2", .host = "ipv4:10.0.0.2", .proven = true}, "why");
  EXPECT_EQ(lines_.back(), "peers: refused n2 (ipv4:10.0.0.2): why");
}

}  // namespace
}  // namespace shufflefs::peers
