// SPDX-License-Identifier: Apache-2.0
// Members that are killed, stopped, or not what they seem. Each other member is
// a process of its own, which loads the module.
#include "tests/peers/child.h"
#include "tests/peers/peer_fixture.h"

namespace shufflefs::peers {
namespace {

// Ends all connections of this process to the daemon. Returns how many.
int BreakConnections(const std::string& name) {
  int broken = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    sockaddr_in at = {};
    socklen_t size = sizeof at;
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&at), &size) == 0 &&
        size >= sizeof at && Loopback(ntohs(at.sin_port)) == name) {
      shutdown(fd, SHUT_RDWR);
      ++broken;
    }
  }
  return broken;
}

class PeerFaultsTest : public TwoNodes {
 protected:
  void StartNode() {
    b_process_ = std::make_unique<Child>(
        std::vector<std::string>{SHUFFLEFS_PEER_NODE, SHUFFLEFS_PEERS_MODULE,
                                 a_name_ + ";" + b_name_, b_name_});
    ASSERT_EQ(b_process_->FirstLine(), "listens");
  }
  void StartAll() {
    a_ = std::make_unique<Node>(Config(a_name_));
    ASSERT_EQ(a_->Start(), absl::OkStatus());
    StartNode();
    ASSERT_TRUE(Eventually([&] { return a_->HasJoined(b_name_); }));
  }
  bool Reads() {
    const PeerExtent extent = WholeFile("f", 100000);
    const Node::Result result = a_->Read(b_name_, extent, milliseconds(1000));
    return result.status.ok() && result.bytes == ContentOf(extent);
  }

  std::unique_ptr<Child> b_process_;
};

TEST_F(PeerFaultsTest, AKilledMemberIsMissedAndComesBack) {
  StartAll();
  EXPECT_TRUE(Reads());
  for (int round = 0; round < 2; ++round) {
    b_process_->Kill();
    ASSERT_TRUE(Eventually([&] { return !a_->HasJoined(b_name_); }));
    EXPECT_FALSE(Reads());
    StartNode();
    ASSERT_TRUE(Eventually([&] { return Reads(); }));
  }
}

// A connection of a session is opened once, so the member joins anew.
TEST_F(PeerFaultsTest, AConnectionThatBreaksIsMadeAnew) {
  StartAll();
  ASSERT_TRUE(Reads());
  for (int round = 0; round < 3; ++round) {
    EXPECT_GE(BreakConnections(b_name_), 1);
    ASSERT_TRUE(Eventually([&] {
      // Over each connection.
      return Reads() && Reads() && Reads() && Reads();
    }));
  }
}

TEST_F(PeerFaultsTest, AStoppedMemberCostsOneDeadline) {
  StartAll();
  ASSERT_TRUE(Reads());
  b_process_->Signal(SIGSTOP);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 200; ++i) EXPECT_FALSE(Reads());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  ASSERT_TRUE(Eventually([&] {
    return a_->Member(b_name_).why == "no answer in time";
  })) << a_->Member(b_name_).why;
  b_process_->Signal(SIGCONT);
  ASSERT_TRUE(Eventually([&] { return Reads(); }));
}

// A question of a member that does not answer ends in time, and so do all that
// follow, until it answers.
TEST_F(PeerFaultsTest, AStoppedMemberLeavesQuestionsAboutNamesOpen) {
  StartAll();
  const NameQuestion question{.view = "v", .binding = 1, .names = {5}};
  ASSERT_TRUE(a_->AskNames(b_name_, question).get().ok());
  b_process_->Signal(SIGSTOP);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) {
    const Node::Samples samples =
        a_->AskNames(b_name_, question, milliseconds(500)).get();
    EXPECT_TRUE(absl::IsUnavailable(samples.status())) << samples.status();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  b_process_->Signal(SIGCONT);
  ASSERT_TRUE(Eventually([&] {
    return a_->AskNames(b_name_, question, milliseconds(1000)).get().ok();
  }));
}

// Without any request, too.
TEST_F(PeerFaultsTest, AStoppedMemberIsNoticed) {
  StartAll();
  b_process_->Signal(SIGSTOP);
  EXPECT_TRUE(Eventually([&] { return !a_->HasJoined(b_name_); }));
}

// Many requests are under way, of which each ends once.
TEST_F(PeerFaultsTest, AMemberIsKilledUnderLoad) {
  StartAll();
  const PeerExtent extent = WholeFile("f", 300000);
  const std::string expected = ContentOf(extent);
  int good = 0;
  int bad = 0;
  for (int round = 0; round < 20; ++round) {
    std::vector<std::future<Node::Result>> asked;
    for (int i = 0; i < 10; ++i) asked.push_back(a_->Ask(b_name_, extent));
    if (round == 5) b_process_->Kill();
    for (auto& each : asked) {
      const Node::Result result = each.get();
      if (result.status.ok()) {
        EXPECT_TRUE(result.bytes == expected);
        ++good;
      } else {
        EXPECT_TRUE(absl::IsUnavailable(result.status)) << result.status;
        ++bad;
      }
    }
  }
  EXPECT_GE(good, 50);
  EXPECT_GE(bad, 140);
}

TEST_F(PeerFaultsTest, StopDoesNotWaitForAStoppedMember) {
  StartAll();
  b_process_->Signal(SIGSTOP);
  auto asked = a_->Ask(b_name_, WholeFile("f", 10));
  const auto begin = std::chrono::steady_clock::now();
  a_->transport->Stop();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_TRUE(absl::IsUnavailable(asked.get().status));
}

// A port that takes connections and answers with noise.
TEST_F(PeerFaultsTest, NoiseIsNoMember) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at = {};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  at.sin_port = htons(std::stoi(b_name_.substr(b_name_.find(':') + 1)));
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
  ASSERT_EQ(listen(listener, 10), 0);
  std::thread noise([listener] {
    for (int fd; (fd = accept(listener, nullptr, nullptr)) >= 0; close(fd)) {
      const std::string text(10000, '\x07');
      send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    }
  });
  a_ = std::make_unique<Node>(Config(a_name_));
  EXPECT_EQ(a_->Start(), absl::OkStatus());
  EXPECT_TRUE(Eventually([&] {
    return a_->Member(b_name_).why.rfind("no answer: ", 0) == 0;
  })) << a_->Member(b_name_).why;
  a_->transport->Stop();
  shutdown(listener, SHUT_RDWR);
  noise.join();
  close(listener);
}

}  // namespace
}  // namespace shufflefs::peers
