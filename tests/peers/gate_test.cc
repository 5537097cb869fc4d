// SPDX-License-Identifier: Apache-2.0
// The gate in front of gRPC: greetings, and how few strangers get by.
#include <poll.h>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "peers/access/connection_gate.h"
#include "peers/access/greeting.h"
#include "tests/peers/flood.h"
#include "tests/peers/peer_fixture.h"

namespace shufflefs::peers {
namespace {

// As gRPC writes it.
std::string Request(const std::string& headers) {
  std::string text =
      "CONNECT shufflefs HTTP/1.0\r\nHost: shufflefs\r\n"
      "User-Agent: grpc-httpcli/0.0\r\n";
  for (absl::string_view line : absl::StrSplit(headers, '\n')) {
    absl::StrAppend(&text, line, "\r\n");
  }
  return text + "\r\n";
}

using State = FoundGreeting::State;

TEST(GreetingTest, ComesBackAsItWasMade) {
  const Secret secret("a secret of this job");
  const std::string text = Request(JoinGreeting(secret, "node1:7373"));
  const FoundGreeting found = FindGreeting(text + "PRI *");
  ASSERT_EQ(found.state, State::kWhole);
  EXPECT_EQ(found.size, text.size());
  EXPECT_EQ(found.greeting.from, "node1:7373");
  EXPECT_TRUE(IsProven(found.greeting, secret));
  EXPECT_TRUE(IsProven(found.greeting, Secret()));
  EXPECT_FALSE(IsProven(found.greeting, Secret("another secret")));
  Greeting other = found.greeting;
  other.from = "node2:7373";
  EXPECT_FALSE(IsProven(other, secret));
  other = found.greeting;
  other.nonce[0] ^= 1;
  EXPECT_FALSE(IsProven(other, secret));
  EXPECT_FALSE(IsProven({}, secret));
}

TEST(GreetingTest, FitsWithTheLongestName) {
  const std::string text = Request(
      JoinGreeting(Secret("a secret of this job"), std::string(262, 'n')));
  EXPECT_EQ(FindGreeting(text).state, State::kWhole);
  EXPECT_LT(text.size(), kMostGreeting * 2 / 3);
}

TEST(GreetingTest, IsCutOffUntilItsLastByte) {
  const std::string text =
      Request(JoinGreeting(Secret("a secret of this job"), "node1:7373"));
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_EQ(FindGreeting(text.substr(0, size)).state, State::kCutOff) << size;
  }
}

TEST(GreetingTest, ThatIsTooLongIsNone) {
  const std::string begin = "CONNECT shufflefs HTTP/1.0\r\nX: ";
  for (const size_t more : {0, 1, 5000}) {
    const std::string filler(kMostGreeting - begin.size() - 3 + more, 'x');
    EXPECT_EQ(FindGreeting(begin + filler + "\r\n\r\n").state, State::kNone);
    if (more == 0) continue;
    EXPECT_EQ(FindGreeting(begin + filler + "xx").state, State::kNone);
  }
  const std::string most(kMostGreeting - begin.size() - 4, 'x');
  EXPECT_EQ(FindGreeting(begin + most + "\r\n\r\n").state, State::kWhole);
}

TEST(GreetingTest, WhatAnEarlierVersionSendsIsKnown) {
  EXPECT_EQ(FindGreeting("PRI * HTTP/2.0\r\n\r\nSM").state, State::kEarlier);
  EXPECT_EQ(FindGreeting("\x16\x03\x01").state, State::kEarlier);
  EXPECT_EQ(FindGreeting("PRI").state, State::kCutOff);
  EXPECT_EQ(FindGreeting("\x16").state, State::kCutOff);
  for (const char* const none :
       {"GET / HTTP/1.1\r\n", "PRX", "\x16\x04", "connect shufflefs",
        "CONNECT other HTTP/1.0\r\n\r\n", "CONNECT shufflefs HTTP/2"}) {
    EXPECT_EQ(FindGreeting(none).state, State::kNone) << none;
  }
}

TEST(GreetingTest, ConnectionsOfASessionHaveTokensOfTheirOwn) {
  const Secret key("key");
  const std::string token = ConnectionToken("session", key, 0);
  EXPECT_EQ(token.size(), 64u);
  EXPECT_EQ(token, ConnectionToken("session", key, 0));
  for (const std::string& other :
       {ConnectionToken("session", key, 1), ConnectionToken("session2", key, 0),
        ConnectionToken("session", Secret("key2"), 0),
        ConnectionToken("session", Secret(), 0)}) {
    EXPECT_NE(token, other);
  }
  EXPECT_EQ(FindGreeting(Request(SessionGreeting(token))).greeting.token,
            token);
}

// A gate whose ways end in this test.
class GateTest : public testing::Test {
 protected:
  ~GateTest() override {
    if (gate_ != nullptr) gate_->Stop();
    for (const int fd : opened_) close(fd);
    MutexLock lock(mu_);
    for (const int fd : taken_) close(fd);
  }
  void Start(GateWay way, milliseconds patience = milliseconds(60000),
             size_t places = 4) {
    auto gate = ConnectionGate::Listen({"127.0.0.1", 0});
    ASSERT_EQ(gate.status(), absl::OkStatus());
    gate_ = *std::move(gate);
    gate_->Start(
        {.judge =
             [this, way](const FoundGreeting& found, const std::string&) {
               judged_.fetch_add(1);
               return found.greeting.from == "member" ? GateWay::kMembers : way;
             },
         .to_desk = [this](int fd) { Take(fd); },
         .to_members = [this](int fd) { Take(fd); },
         .patience = patience,
         .places = places});
  }
  void Take(int fd) {
    MutexLock lock(mu_);
    taken_.push_back(fd);
  }
  // gRPC's ends of the connections that got by.
  std::vector<int> taken() const {
    MutexLock lock(mu_);
    return taken_;
  }
  int Connect(const std::string& from = "127.0.0.1") {
    const int fd = ConnectTo(gate_->address().Text(), from);
    EXPECT_GE(fd, 0);
    opened_.push_back(fd);
    return fd;
  }
  static void Send(int fd, const std::string& text) {
    EXPECT_EQ(send(fd, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  // All that comes until the other side ends, or `size` bytes.
  static std::string Hear(int fd, size_t size) {
    std::string text;
    pollfd wait = {.fd = fd, .events = POLLIN, .revents = 0};
    while (text.size() < size && poll(&wait, 1, 30000) == 1) {
      char c = 0;
      if (recv(fd, &c, 1, 0) != 1) break;
      text.push_back(c);
    }
    return text;
  }
  // The other side closes it, in the patience of a test.
  static bool Ends(int fd) { return Hear(fd, 100000).size() < 100000; }
  static bool IsOpen(int fd) {
    char c = 0;
    return recv(fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) != 0 && errno == EAGAIN;
  }

  const std::string hello_ = Request("sfs-from:somebody");
  const std::string ok_ = "HTTP/1.1 200 OK\r\n\r\n";
  std::unique_ptr<ConnectionGate> gate_;
  std::atomic<int> judged_{0};
  std::vector<int> opened_;
  mutable Mutex mu_;
  std::vector<int> taken_ ABSL_GUARDED_BY(mu_);
};

TEST_F(GateTest, LeavesWhatFollowsAGreetingToGrpc) {
  Start(GateWay::kMembers);
  const int fd = Connect();
  Send(fd, hello_ + "what follows");
  EXPECT_EQ(Hear(fd, ok_.size()), ok_);
  ASSERT_TRUE(Eventually([&] { return taken().size() == 1; }));
  EXPECT_EQ(Hear(taken()[0], 12), "what follows");
}

TEST_F(GateTest, WaitsForEachByteOfAGreeting) {
  Start(GateWay::kMembers);
  const int fd = Connect();
  for (const char c : hello_) Send(fd, std::string(1, c));
  EXPECT_EQ(Hear(fd, ok_.size()), ok_);
}

TEST_F(GateTest, AGreetingThatIsCutOffGetsNowhere) {
  Start(GateWay::kMembers);
  for (size_t size = 0; size < hello_.size(); ++size) {
    const int fd = Connect();
    Send(fd, hello_.substr(0, size));
    shutdown(fd, SHUT_WR);
    EXPECT_EQ(Hear(fd, 1), "") << size;
  }
  EXPECT_EQ(judged_.load(), 0);
}

TEST_F(GateTest, AGreetingThatIsTooLongGetsNowhere) {
  Start(GateWay::kMembers);
  const int fd = Connect();
  Send(fd, "CONNECT shufflefs HTTP/1.0\r\nX: " + std::string(5000, 'x'));
  EXPECT_TRUE(Ends(fd));
  EXPECT_EQ(judged_.load(), 0);
}

TEST_F(GateTest, WhoSaysNothingIsClosedInTime) {
  Start(GateWay::kMembers, milliseconds(300));
  const int silent = Connect();
  const int slow = Connect();
  Send(slow, "CONN");
  EXPECT_TRUE(Ends(silent));
  EXPECT_TRUE(Ends(slow));
  EXPECT_EQ(judged_.load(), 0);
}

TEST_F(GateTest, WhoStaysAtTheDeskIsClosedInTime) {
  Start(GateWay::kDesk, milliseconds(300));
  const int fd = Connect();
  Send(fd, hello_);
  EXPECT_EQ(Hear(fd, ok_.size()), ok_);
  EXPECT_TRUE(Ends(fd));
  ASSERT_EQ(taken().size(), 1u);
  EXPECT_TRUE(Ends(taken()[0]));
}

TEST_F(GateTest, SaysWhyItRefuses) {
  Start(GateWay::kWrongSecret);
  const int fd = Connect();
  Send(fd, hello_);
  EXPECT_TRUE(absl::StartsWith(Hear(fd, 1000), "HTTP/1.1 401 "));
}

TEST_F(GateTest, TheDeskPassesBytesOnBothWays) {
  Start(GateWay::kDesk);
  const int fd = Connect();
  Send(fd, hello_ + "question");
  EXPECT_EQ(Hear(fd, ok_.size()), ok_);
  ASSERT_TRUE(Eventually([&] { return taken().size() == 1; }));
  EXPECT_EQ(Hear(taken()[0], 8), "question");
  Send(taken()[0], "answer");
  EXPECT_EQ(Hear(fd, 6), "answer");
  // An answer is passed on before its end.
  Send(taken()[0], "last");
  shutdown(taken()[0], SHUT_RDWR);
  EXPECT_EQ(Hear(fd, 100), "last");
}

TEST_F(GateTest, TheDeskPassesFewBytesOn) {
  Start(GateWay::kDesk);
  const int fd = Connect();
  Send(fd, hello_);
  ASSERT_TRUE(Eventually([&] { return taken().size() == 1; }));
  std::thread sender([fd] {
    const std::string text(1 << 20, 'x');
    for (ssize_t sent = 0; sent >= 0;) {
      sent = send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    }
  });
  const size_t heard = Hear(taken()[0], 1 << 20).size();
  sender.join();
  EXPECT_LE(heard, DeskRelay::kMostBytes);
  EXPECT_GT(heard, DeskRelay::kMostBytes / 2);
}

// gRPC gets no more connections than there are places, until it lets go.
TEST_F(GateTest, TheDeskHasFewPlaces) {
  Start(GateWay::kDesk);
  for (int i = 0; i < 20; ++i) Send(Connect(), hello_);
  ASSERT_TRUE(Eventually([&] { return judged_.load() == 20; }));
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(taken().size(), 4u);
  // All four have been closed for those who wait. gRPC lets go of one.
  for (const int fd : taken()) EXPECT_TRUE(Ends(fd));
  shutdown(taken()[2], SHUT_RDWR);
  EXPECT_TRUE(Eventually([&] { return taken().size() == 5; }));
}

// A member of another address gets to the desk, and stays there.
TEST_F(GateTest, StrangersDoNotTakePlacesOfOtherAddresses) {
  Start(GateWay::kDesk);
  for (int i = 0; i < 300; ++i) {
    const int stranger = ConnectTo(gate_->address().Text(), "127.0.0.9");
    if (stranger < 0) continue;
    send(stranger, hello_.data(), i % 2 == 0 ? hello_.size() : 5, MSG_NOSIGNAL);
    opened_.push_back(stranger);
  }
  const int member = Connect();
  Send(member, hello_);
  // As gRPC does with those who have gone.
  std::jthread grpc = StartThread("grpc", [this](std::stop_token stop) {
    while (!stop.stop_requested()) {
      for (const int fd : taken()) {
        if (!IsOpen(fd)) shutdown(fd, SHUT_RDWR);
      }
      std::this_thread::sleep_for(milliseconds(1));
    }
  });
  EXPECT_EQ(Hear(member, ok_.size()), ok_);
  for (int i = 0; i < 300; ++i) {
    const int stranger = ConnectTo(gate_->address().Text(), "127.0.0.9");
    send(stranger, hello_.data(), hello_.size(), MSG_NOSIGNAL);
    opened_.push_back(stranger);
  }
  EXPECT_TRUE(IsOpen(member));
}

// Not even if each has an address of its own.
TEST_F(GateTest, StrangersOfManyAddressesDoNotKeepAMemberOut) {
  Start(GateWay::kDesk);
  for (int i = 2; i < 6; ++i)
    Send(Connect(absl::StrCat("127.0.0.", i)), hello_);
  ASSERT_TRUE(Eventually([&] { return taken().size() == 4; }));
  const int member = Connect();
  Send(member, hello_);
  EXPECT_TRUE(Eventually([&] {
    for (const int fd : taken()) {
      if (!IsOpen(fd)) shutdown(fd, SHUT_RDWR);
    }
    return taken().size() == 5;
  }));
  EXPECT_EQ(Hear(member, ok_.size()), ok_);
}

// Not even if they are many, say nothing, and come again when they are closed.
TEST_F(GateTest, SilentStrangersOfManyAddressesDoNotKeepAMemberOut) {
  Start(GateWay::kDesk);
  std::jthread strangers = StartThread("strangers", [&](std::stop_token stop) {
    std::vector<int> idle(80, -1);
    while (!stop.stop_requested()) {
      for (size_t i = 0; i < idle.size(); ++i) {
        if (idle[i] >= 0 && IsOpen(idle[i])) continue;
        if (idle[i] >= 0) close(idle[i]);
        idle[i] =
            ConnectTo(gate_->address().Text(), absl::StrCat("127.0.1.", i + 1));
      }
      std::this_thread::sleep_for(milliseconds(50));
    }
    for (const int fd : idle) close(fd);
  });
  std::this_thread::sleep_for(milliseconds(300));
  int let_in = 0;
  const std::string greeting = Request("sfs-from:member");
  for (int i = 0; i < 50; ++i) {
    const int member = Connect(absl::StrCat("127.0.2.", i + 1));
    send(member, greeting.data(), 5, MSG_NOSIGNAL);
    std::this_thread::sleep_for(milliseconds(10));
    send(member, greeting.data() + 5, greeting.size() - 5, MSG_NOSIGNAL);
    let_in += Hear(member, ok_.size()) == ok_ ? 1 : 0;
  }
  strangers.request_stop();
  strangers.join();
  EXPECT_GT(let_in, 40);
}

// Nor do they close the connections of those who have joined.
TEST_F(GateTest, AConnectionOfAMemberStays) {
  Start(GateWay::kDesk);
  const int member = Connect();
  Send(member, Request("sfs-from:member"));
  EXPECT_EQ(Hear(member, ok_.size()), ok_);
  for (int i = 0; i < 1000; ++i) Connect();
  EXPECT_TRUE(IsOpen(member));
}

TEST(GateAddressTest, ATakenPortIsAnError) {
  const auto first = ConnectionGate::Listen({"127.0.0.1", 0});
  ASSERT_EQ(first.status(), absl::OkStatus());
  const auto second = ConnectionGate::Listen((*first)->address());
  EXPECT_TRUE(absl::IsUnavailable(second.status())) << second.status();
  EXPECT_FALSE(ConnectionGate::Listen({"192.0.2.1", 0}).ok());
}

TEST(GateAddressTest, AllAddressesAnswer) {
  for (const char* const any : {"0.0.0.0", "::"}) {
    const auto gate = ConnectionGate::Listen({any, 0});
    ASSERT_EQ(gate.status(), absl::OkStatus());
    const int fd = ConnectTo(Loopback((*gate)->address().port));
    EXPECT_GE(fd, 0);
    close(fd);
  }
}

}  // namespace
}  // namespace shufflefs::peers
