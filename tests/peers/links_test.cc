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

// Otherwise each link would end the session of the other one, for ever.
TEST_F(TwoNodes, TwoNamesOfAnotherDaemonAreOneMember) {
  const std::string twin = "localhost" + b_name_.substr(b_name_.find(':'));
  PeersConfig config = Config(a_name_);
  config.members += ";" + twin;
  a_ = std::make_unique<Node>(config);
  config.listen = b_name_;
  b_ = std::make_unique<Node>(config);
  ASSERT_EQ(b_->Start(), absl::OkStatus());
  ASSERT_EQ(a_->Start(), absl::OkStatus());
  const auto is_twin = [&](const std::string& name, const std::string& other) {
    return a_->HasJoined(name) &&
           a_->Member(other).why == "the same daemon as " + name;
  };
  ASSERT_TRUE(Eventually([&] {
    return is_twin(b_name_, twin) || is_twin(twin, b_name_);
  })) << a_->Member(b_name_).why
      << ", " << a_->Member(twin).why;
  // Many pings, and greetings of the one that is not used.
  std::this_thread::sleep_for(std::chrono::seconds(3));
  EXPECT_EQ(CountOf(*a_, "peers: joined " + b_name_) +
                CountOf(*a_, "peers: joined " + twin),
            1);
  const std::string used = a_->HasJoined(twin) ? twin : b_name_;
  EXPECT_TRUE(a_->Read(used, WholeFile("f", 10)).status.ok());
}

}  // namespace
}  // namespace shufflefs::peers
