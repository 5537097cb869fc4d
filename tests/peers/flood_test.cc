// SPDX-License-Identifier: Apache-2.0
// Strangers flood the port of a daemon, which is a process of its own: its
// memory stays small, and members are served.
#include "tests/peers/flood.h"

#include "tests/peers/child.h"
#include "tests/peers/peer_fixture.h"

namespace shufflefs::peers {
namespace {

constexpr int64_t kMostGrowth = int64_t{32} << 20;  // bytes

struct FloodCase {
  bool secret = false;
  bool tls = false;
  std::string from;  // where strangers are
};

class FloodTest : public testing::TestWithParam<FloodCase> {
 protected:
  FloodTest() {
    const std::vector<int> ports = FreePorts(3);
    a_name_ = Loopback(ports[0]);
    b_name_ = Loopback(ports[1]);
    c_name_ = Loopback(ports[2]);
    members_ = absl::StrCat(a_name_, ";", b_name_, ";", c_name_);
    if (GetParam().secret) secret_ = folder_.File("secret", "a secret of ours");
    if (GetParam().tls) {
      tls_ = MakeCertificate(folder_, {"tls", "ca", kCertificateName});
    }
  }
  std::unique_ptr<Node> StartNode(const std::string& name) {
    PeersConfig config = ConfigOf(members_, name);
    config.secret = secret_;
    config.tls = tls_;
    LinkTimes times;
    times.first_retry = milliseconds(20);
    times.most_retry = milliseconds(200);
    auto node = std::make_unique<Node>(config, 42, times);
    EXPECT_EQ(node->Start(), absl::OkStatus());
    return node;
  }
  // The daemon that is flooded.
  void StartB() {
    b_ = std::make_unique<Child>(
        std::vector<std::string>{SHUFFLEFS_PEER_NODE, SHUFFLEFS_PEERS_MODULE,
                                 members_, b_name_, secret_, tls_});
    ASSERT_EQ(b_->FirstLine(), "listens");
  }
  bool Reads(Node& node, const std::string& path) {
    const PeerExtent extent = WholeFile(path, 100000);
    const Node::Result result = node.Read(b_name_, extent);
    return result.status.ok() && result.bytes == ContentOf(extent);
  }

  const TempFolder folder_;
  std::string a_name_;
  std::string b_name_;
  std::string c_name_;
  std::string members_;
  std::string secret_;
  std::string tls_;
  std::unique_ptr<Child> b_;
};

// [S-24.1g] However many connections a stranger opens, and whatever it sends,
// it takes less than 32 MiB of the daemon's memory, and members are served.
TEST_P(FloodTest, TakesLittleMemoryAndKeepsNobodyOut) {
  StartB();
  const std::unique_ptr<Node> a = StartNode(a_name_);
  ASSERT_TRUE(Eventually([&] { return a->HasJoined(b_name_); }));
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(Reads(*a, "f"));
  const int64_t before = b_->Memory();
  int64_t most = 0;
  Flood flood({.to = b_name_, .from = GetParam().from});
  while (flood.rounds() < 150) {
    EXPECT_TRUE(Reads(*a, "g"));
    most = std::max(most, b_->Memory());
    ASSERT_LT(most - before, kMostGrowth);
  }
  const std::unique_ptr<Node> c = StartNode(c_name_);
  ASSERT_TRUE(Eventually([&] { return c->HasJoined(b_name_); }))
      << c->Member(b_name_).why;
  // What fails is read from the source.
  EXPECT_TRUE(Eventually([&] { return Reads(*c, "h"); }));
  EXPECT_TRUE(Reads(*a, "i"));
  EXPECT_LT(std::max(most, b_->Memory()) - before, kMostGrowth);
  // Nobody who had joined was thrown out.
  EXPECT_TRUE(a->HasJoined(b_name_));
  EXPECT_FALSE(a->Logged(b_name_ + ": no answer"));
  RecordProperty("growth_kib", static_cast<int>((most - before) >> 10));
}

INSTANTIATE_TEST_SUITE_P(
    Strangers, FloodTest,
    testing::Values(FloodCase{.from = "127.0.0.1"},
                    FloodCase{.from = "127.0.0.9"},
                    FloodCase{.secret = true, .from = "127.0.0.1"},
                    FloodCase{.tls = true, .from = "127.0.0.9"},
                    FloodCase{
                        .secret = true, .tls = true, .from = "127.0.0.1"}),
    [](const testing::TestParamInfo<FloodCase>& info) {
      return absl::StrCat(info.param.secret ? "Secret" : "",
                          info.param.tls ? "Tls" : "",
                          info.param.from == "127.0.0.1" ? "Near" : "Apart");
    });

}  // namespace
}  // namespace shufflefs::peers
