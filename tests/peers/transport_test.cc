// SPDX-License-Identifier: Apache-2.0
// Two daemons on loopback: joining, refusals, bytes, stopping.
#include "tests/peers/peer_fixture.h"

namespace shufflefs::peers {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using TransportTest = TwoNodes;

TEST_F(TransportTest, MembersAreShownBeforeTheyAnswer) {
  a_ = std::make_unique<Node>(Config(a_name_));
  ASSERT_EQ(a_->Start(), absl::OkStatus());
  const auto group = a_->transport->group();
  ASSERT_EQ(group->members.size(), 2u);
  EXPECT_EQ(group->revision, 1u);
  EXPECT_TRUE(a_->Member(a_name_).self);
  EXPECT_TRUE(a_->Member(a_name_).joined);
  EXPECT_FALSE(a_->Member(b_name_).joined);
  EXPECT_FALSE(a_->Member(b_name_).self);
  const auto refused = a_->Read(b_name_, WholeFile("f", 10));
  EXPECT_TRUE(absl::IsUnavailable(refused.status)) << refused.status;
  ASSERT_TRUE(Eventually([&] {
    return a_->Member(b_name_).why.find("no answer: ") == 0;
  })) << a_->Member(b_name_).why;
  EXPECT_EQ(a_->transport->group()->revision, 1u);
}

TEST_F(TransportTest, BytesOfAllSizesArriveExactly) {
  StartBoth();
  std::vector<std::pair<PeerExtent, std::future<Node::Result>>> asked;
  for (const uint64_t size : {1ull, 2ull, 127ull, 128ull, 4095ull, 4096ull,
                              65537ull, 1ull << 20, (5ull << 20) + 3}) {
    PeerExtent extent{.path = absl::StrCat("dir/\xff", size),
                      .size = size * 3,
                      .mtime_ns = -5,
                      .offset = size,
                      .length = size};
    asked.emplace_back(extent, a_->Ask(b_name_, extent));
  }
  asked.emplace_back(WholeFile("most", kMostPeerExtent),
                     a_->Ask(b_name_, WholeFile("most", kMostPeerExtent)));
  uint64_t sum = 0;
  for (auto& [extent, answer] : asked) {
    const Node::Result result = answer.get();
    ASSERT_EQ(result.status, absl::OkStatus()) << extent.length;
    EXPECT_TRUE(result.bytes == ContentOf(extent)) << extent.length;
    sum += extent.length;
  }
  const auto a_traffic = a_->transport->traffic();
  const auto b_traffic = b_->transport->traffic();
  ASSERT_EQ(a_traffic.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    if (a_traffic[i].first == b_name_) {
      EXPECT_EQ(a_traffic[i].second.received, sum);
      EXPECT_EQ(a_traffic[i].second.requests, asked.size());
      EXPECT_EQ(a_traffic[i].second.failed, 0u);
    } else {
      EXPECT_EQ(b_traffic[i].second.sent, sum);
    }
  }
}

TEST_F(TransportTest, MembersTellWhatTheyReadFromTheSource) {
  StartBoth();
  b_->service.source_bytes = 1234567;
  EXPECT_TRUE(Eventually([&] {
    for (const auto& [name, traffic] : a_->transport->traffic()) {
      if (traffic.source_bytes == 1234567) return name == b_name_;
    }
    return false;
  }));
}

TEST_F(TransportTest, ErrorsOfTheServiceComeThroughAndCostNoTrust) {
  StartBoth();
  const auto absent = a_->Read(b_name_, WholeFile("absent", 10));
  EXPECT_TRUE(absl::IsNotFound(absent.status)) << absent.status;
  EXPECT_EQ(absent.status.message(), "not kept: absent");
  PeerExtent up = WholeFile("../f", 10);
  EXPECT_TRUE(absl::IsInvalidArgument(a_->Read(b_name_, up).status));
  EXPECT_TRUE(a_->HasJoined(b_name_));
  EXPECT_EQ(b_->service.asked.load(), 1);
}

TEST_F(TransportTest, WhatAMemberTellsIsHeard) {
  StartBoth();
  const std::shared_ptr<const PeerGroup> group = a_->transport->group();
  size_t index = 0;
  while (group->members[index].name != b_name_) ++index;
  EpochMessage message;
  message.kind = EpochMessage::Kind::kOpens;
  message.from = a_name_;
  message.opens = {{17, 4, 0, false}};
  std::promise<absl::Status> done;
  a_->transport->Tell(group, index, message, milliseconds(20000),
                      [&](const absl::Status& told) { done.set_value(told); });
  EXPECT_EQ(done.get_future().get(), absl::OkStatus());
  ASSERT_EQ(b_->service.heard().size(), 1u);
  EXPECT_TRUE(b_->service.heard()[0] == message);
}

TEST_F(TransportTest, AnotherDatasetIsRefusedOnBothSides) {
  a_ = std::make_unique<Node>(Config(a_name_));
  b_ = std::make_unique<Node>(Config(b_name_), 43);
  ASSERT_EQ(a_->Start(), absl::OkStatus());
  ASSERT_EQ(b_->Start(), absl::OkStatus());
  const auto is_refused = [](Node& node, const std::string& other) {
    ASSERT_TRUE(Eventually([&] {
      return node.Member(other).why == "refused: the dataset differs";
    })) << node.Member(other).why;
    ASSERT_TRUE(Eventually([&] {
      return node.Logged("peers: refused " + other) &&
             node.Logged(other + " is not used; refused: the dataset differs");
    }));
    EXPECT_TRUE(
        absl::IsUnavailable(node.Read(other, WholeFile("f", 1)).status));
  };
  is_refused(*a_, b_name_);
  is_refused(*b_, a_name_);
  EXPECT_EQ(a_->service.asked.load() + b_->service.asked.load(), 0);
  // Tries again, and logs each line once.
  std::this_thread::sleep_for(milliseconds(700));
  EXPECT_EQ(a_->lines().size(), 2u);
}

// Names decide who owns what, and who leads.
TEST_F(TransportTest, AListThatSpellsMembersDifferentlyIsRefusedOnBothSides) {
  PeersConfig other = Config(b_name_);
  const std::string b_alias = "localhost" + b_name_.substr(b_name_.find(':'));
  other.members = a_name_ + ";" + b_alias;
  a_ = std::make_unique<Node>(Config(a_name_));
  b_ = std::make_unique<Node>(other);
  ASSERT_EQ(a_->Start(), absl::OkStatus());
  ASSERT_EQ(b_->Start(), absl::OkStatus());
  const std::string why =
      "refused: another list of members: name the same ones, spelt alike, on "
      "all nodes";
  EXPECT_TRUE(Eventually([&] {
    return a_->Member(b_name_).why == why && b_->Member(a_name_).why == why;
  })) << a_->Member(b_name_).why;
  EXPECT_FALSE(a_->Logged("joined"));
  EXPECT_FALSE(b_->Logged("joined"));
}

// B's list of members is another text than A's.
class OtherListTest : public TransportTest {
 protected:
  void ExpectJoined(const std::string& list) {
    PeersConfig other = Config(b_name_);
    other.members = list;
    a_ = std::make_unique<Node>(Config(a_name_));
    b_ = std::make_unique<Node>(other);
    ASSERT_EQ(a_->Start(), absl::OkStatus());
    ASSERT_EQ(b_->Start(), absl::OkStatus());
    EXPECT_TRUE(Eventually([&] {
      return a_->HasJoined(b_name_) && b_->HasJoined(a_name_);
    })) << a_->Member(b_name_).why
        << b_->Member(a_name_).why;
  }
};

TEST_F(OtherListTest, InAnotherOrderIsTheSameList) {
  ExpectJoined(absl::StrCat(b_name_, "; ", a_name_, ";", b_name_));
}

// As those who ask a resolver have none.
TEST_F(OtherListTest, WhoHasNoneIsNotHeldToOne) {
  ExpectJoined("dns:localhost" + a_name_.substr(a_name_.find(':')));
}

TEST_F(TransportTest, AMemberThatComesLaterJoins) {
  a_ = std::make_unique<Node>(Config(a_name_));
  ASSERT_EQ(a_->Start(), absl::OkStatus());
  std::this_thread::sleep_for(milliseconds(100));
  b_ = std::make_unique<Node>(Config(b_name_));
  ASSERT_EQ(b_->Start(), absl::OkStatus());
  EXPECT_TRUE(Eventually([&] { return a_->HasJoined(b_name_); }));
}

TEST_F(TransportTest, ARestartedMemberIsJoinedAnew) {
  StartBoth();
  for (int round = 0; round < 3; ++round) {
    b_.reset();
    b_ = std::make_unique<Node>(Config(b_name_));
    ASSERT_EQ(b_->Start(), absl::OkStatus());
    ASSERT_TRUE(Eventually(
        [&] { return a_->Read(b_name_, WholeFile("f", 9)).status.ok(); }));
  }
}

TEST_F(TransportTest, StopAnswersAllAndWaitsForNobody) {
  StartBoth();
  std::vector<std::future<Node::Result>> asked;
  for (int i = 0; i < 20; ++i) {
    asked.push_back(a_->Ask(b_name_, WholeFile("hang", 10)));
  }
  ASSERT_TRUE(Eventually([&] { return b_->service.asked.load() == 20; }));
  const auto begin = std::chrono::steady_clock::now();
  a_->transport->Stop();
  for (auto& each : asked) {
    EXPECT_TRUE(absl::IsUnavailable(each.get().status));
  }
  EXPECT_TRUE(
      absl::IsUnavailable(a_->Read(b_name_, WholeFile("f", 10)).status));
  b_->transport->Stop();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  b_->transport.reset();
  b_->service.Release();  // nobody listens any more
}

TEST_F(TransportTest, TheAskedOneMayStopFirst) {
  StartBoth();
  auto asked = a_->Ask(b_name_, WholeFile("hang", 10));
  ASSERT_TRUE(Eventually([&] { return b_->service.asked.load() == 1; }));
  b_->transport->Stop();
  EXPECT_TRUE(absl::IsUnavailable(asked.get().status));
  b_->service.Release();
}

// A source that hangs is not a member that hangs.
TEST_F(TransportTest, ALateAnswerCostsOneDeadline) {
  StartBoth();
  const auto late = a_->Read(b_name_, WholeFile("hang", 10), milliseconds(50));
  EXPECT_TRUE(absl::IsUnavailable(late.status)) << late.status;
  EXPECT_THAT(std::string(late.status.message()),
              AllOf(HasSubstr(b_name_), HasSubstr("no answer in time")));
  EXPECT_TRUE(Eventually(
      [&] { return a_->Read(b_name_, WholeFile("f", 10)).status.ok(); }));
  b_->service.Release();
}

TEST_F(TransportTest, APortInUseIsAnError) {
  a_ = std::make_unique<Node>(Config(a_name_));
  b_ = std::make_unique<Node>(Config(a_name_));
  ASSERT_EQ(a_->Start(), absl::OkStatus());
  const absl::Status status = b_->Start();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("peers.listen: cannot listen on " + a_name_));
}

TEST_F(TransportTest, OnlyLoopbackWithoutSafety) {
  PeersConfig config = Config("0.0.0.0:0");
  EXPECT_TRUE(absl::IsFailedPrecondition(Node(config).Start()));
  config.insecure = true;
  EXPECT_EQ(Node(config).Start(), absl::OkStatus());
}

TEST_F(TransportTest, WhoOnlyAnswersThisMachineSaysSo) {
  Node near({.members = "127.0.0.1:1;localhost:2", .listen = "127.0.0.1:0"});
  ASSERT_TRUE(near.Start().ok());
  EXPECT_FALSE(near.Logged("cannot join"));
  Node far({.members = "127.0.0.1:1;node2:7373", .listen = "127.0.0.1:0"});
  ASSERT_TRUE(far.Start().ok());
  EXPECT_TRUE(far.Logged("so node2:7373 cannot join it: set peers.secret"));
}

TEST_F(TransportTest, TwoNamesOfThisDaemonAreOneMember) {
  PeersConfig config = Config(a_name_);
  const std::string other = "localhost" + a_name_.substr(a_name_.find(':'));
  config.members = a_name_ + ";" + other;
  a_ = std::make_unique<Node>(config);
  ASSERT_EQ(a_->Start(), absl::OkStatus());
  ASSERT_TRUE(Eventually([&] {
    return a_->Member(other).why == "the same daemon as " + a_name_;
  })) << a_->Member(other).why;
  EXPECT_FALSE(a_->Member(other).self);
  EXPECT_FALSE(a_->Member(other).joined);
}

}  // namespace
}  // namespace shufflefs::peers
