// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/peers/peers_text.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kStatus[] = R"({"views": [], "peers": {"revision": 2,
  "members": [
    {"name": "n1:7373", "self": true, "joined": true, "why": ""},
    {"name": "n2:7373", "self": false, "joined": true, "why": "",
     "received_bytes": 1048576, "sent_bytes": 2097152, "requests": 12,
     "failed": 1},
    {"name": "n10:7373", "self": false, "joined": false,
     "why": "refused: seed = 0 here and 3 there"}],
  "kept_bytes": 4194304, "group_source_bytes": 8388608, "reads_from_peers": 50, "reads_from_memory": 25,
  "reads_from_source": 25}})";

TEST(PeersText, OneLineSaysWhoIsMissing) {
  const auto status = status_fields::ParseStatus(kStatus);
  EXPECT_EQ(PeersLine(*status),
            "peers: 2 of 3 joined | reads: 50 % from peers, 25 % from memory "
            "here | 4.00 MiB kept for all | 8.00 MiB from the source, by all "
            "nodes\n"
            "  n10:7373: refused: seed = 0 here and 3 there\n");
}

TEST(PeersText, ATableHasALineForEachMember) {
  const auto table = PeersTable(kStatus);
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(*table,
            "member    joined    received        sent    requests    failed\n"
            "n1:7373   self  \n"
            "n2:7373   yes       1.00 MiB    2.00 MiB          12         1\n"
            "n10:7373  no             0 B         0 B           0         0  "
            "refused: "
            "seed = 0 here and 3 there\n"
            "4.00 MiB kept for all | 8.00 MiB from the source, by all nodes | "
            "reads: 50 % from peers, 25 % from memory here\n");
}

TEST(PeersText, RequestsAreCountedForEachSample) {
  auto status = *status_fields::ParseStatus(kStatus);
  status["peers"]["name_requests"] = 30u;
  status["peers"]["byte_requests"] = 20u;
  EXPECT_THAT(PeersLine(status), Not(HasSubstr("a sample")));
  status["peers"]["samples_shown"] = 200u;
  EXPECT_THAT(PeersLine(status), HasSubstr("here | 0.25 requests a sample | "));
  EXPECT_THAT(*PeersTable(status.dump()),
              HasSubstr("here | 0.25 requests a sample\n"));
}

TEST(PeersText, JsonIsOneLine) {
  EXPECT_THAT(*PeersJsonLine(kStatus), StartsWith("{\"revision\":2,"));
}

TEST(PeersText, AMountWithoutPeersSaysHowToHaveSome) {
  EXPECT_EQ(PeersLine(*status_fields::ParseStatus(R"({"views": []})")), "");
  EXPECT_THAT(std::string(PeersTable(R"({"views": []})").status().message()),
              HasSubstr("-o peers="));
  EXPECT_FALSE(PeersJsonLine(R"({"views": []})").ok());
  EXPECT_EQ(PeersLine(*status_fields::ParseStatus(
                R"({"views": [], "peers": {"members": 3}})")),
            "");
}

}  // namespace
}  // namespace shufflefs
