// SPDX-License-Identifier: Apache-2.0
// Links of which a part fails, or that lead to one daemon.
#include <algorithm>

#include "tests/peers/peer_fixture.h"
#include "tests/peers/proxy.h"

namespace shufflefs::peers {
namespace {

int CountOf(const Node& node, const std::string& line) {
  const std::vector<std::string> lines = node.lines();
  return static_cast<int>(std::count(lines.begin(), lines.end(), line));
}

// A asks B by way of a proxy. One of the two connections of its session falls
// silent, and stays open.
class HalfSilentTest : public TwoNodes,
                       public testing::WithParamInterface<size_t> {
 protected:
  void StartAll(const LinkTimes& times) {
    a_ = std::make_unique<Node>(Config(a_name_), 42, times);
    PeersConfig config = Config(b_name_);
    config.listen = behind_;
    b_ = std::make_unique<Node>(config);
    ASSERT_EQ(b_->Start(), absl::OkStatus());
    ASSERT_EQ(a_->Start(), absl::OkStatus());
    ASSERT_TRUE(Eventually([&] { return Reads() && proxy_.sessions() == 2; }));
    ASSERT_EQ(CountOf(*a_, joined_), 1);
  }
  bool Reads() {
    return a_->Read(b_name_, WholeFile("f", 100), milliseconds(500))
        .status.ok();
  }
  bool HasJoinedAnew() { return CountOf(*a_, joined_) == 2; }

  const std::string behind_ = Loopback(FreePorts(1)[0]);
  const std::string joined_ = "peers: joined " + b_name_;
  Proxy proxy_{b_name_, behind_};
};

TEST_P(HalfSilentTest, IsNoticedByAPing) {
  StartAll(ShortTimes());
  proxy_.Silence(GetParam());
  EXPECT_TRUE(Eventually([&] { return HasJoinedAnew(); }));
  EXPECT_TRUE(Reads());
}

TEST_P(HalfSilentTest, IsNoticedByARequest) {
  LinkTimes times = ShortTimes();
  times.ping = milliseconds(3600000);
  StartAll(times);
  proxy_.Silence(GetParam());
  EXPECT_FALSE(Reads() && Reads());
  EXPECT_TRUE(Eventually([&] { return HasJoinedAnew(); }));
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(Reads());
}

INSTANTIATE_TEST_SUITE_P(Connections, HalfSilentTest,
                         testing::Values(size_t{1}, size_t{2}));

}  // namespace
}  // namespace shufflefs::peers
