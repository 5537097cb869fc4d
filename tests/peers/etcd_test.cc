// SPDX-License-Identifier: Apache-2.0
// Members by etcd: servers of a private directory, which are killed, restarted
// and stopped.
#include <grpcpp/grpcpp.h>

#include <set>

#include "absl/strings/str_join.h"
#include "peers/members/etcd_members.h"
#include "tests/peers/child.h"
#include "tests/peers/peer_fixture.h"

namespace shufflefs::peers {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

// Servers of one cluster.
class Etcd {
 public:
  explicit Etcd(size_t count) : ports_(FreePorts(2 * count)) {
    servers_.resize(count);
    for (size_t i = 0; i < count; ++i) Start(i);
  }
  void Start(size_t i) {
    std::vector<std::string> cluster;
    for (size_t k = 0; k < servers_.size(); ++k) {
      cluster.push_back(
          absl::StrCat("n", k, "=http://", Loopback(PeerPort(k))));
    }
    const std::string client = "http://" + endpoint(i);
    const std::string peer = "http://" + Loopback(PeerPort(i));
    const std::string name = absl::StrCat("n", i);
    servers_[i] = std::make_unique<Child>(
        std::vector<std::string>{"etcd",
                                 "--name",
                                 name,
                                 "--data-dir",
                                 folder_.At(name),
                                 "--listen-client-urls",
                                 client,
                                 "--advertise-client-urls",
                                 client,
                                 "--listen-peer-urls",
                                 peer,
                                 "--initial-advertise-peer-urls",
                                 peer,
                                 "--initial-cluster",
                                 absl::StrJoin(cluster, ","),
                                 "--heartbeat-interval",
                                 "50",
                                 "--election-timeout",
                                 "500",
                                 "--unsafe-no-fsync"});
  }
  void Kill(size_t i) { servers_[i]->Kill(); }
  void Signal(size_t i, int number) { servers_[i]->Signal(number); }
  std::string endpoint(size_t i) const { return Loopback(ports_[2 * i]); }
  std::vector<std::string> endpoints() const {
    std::vector<std::string> all;
    for (size_t i = 0; i < servers_.size(); ++i) all.push_back(endpoint(i));
    return all;
  }
  // The names that the server knows.
  std::set<std::string> Names(size_t i) const {
    EtcdClient client(endpoint(i), milliseconds(1000));
    const std::string prefix = "/shufflefs/job/";
    std::set<std::string> names;
    if (auto listing = client.List(prefix); listing.ok()) {
      for (const auto& [key, value] : listing->values) {
        names.insert(key.substr(prefix.size()));
      }
    }
    return names;
  }
  bool Ready(size_t i) const {
    EtcdClient client(endpoint(i), milliseconds(1000));
    return client.List("/x/").ok();
  }

 private:
  int PeerPort(size_t i) const { return ports_[2 * i + 1]; }

  const TempFolder folder_;
  const std::vector<int> ports_;
  std::vector<std::unique_ptr<Child>> servers_;
};

// A daemon's membership alone.
class Joined {
 public:
  Joined(const std::vector<std::string>& endpoints, const std::string& own,
         const std::string& instance = "instance of ")
      : members_({.endpoints = endpoints,
                  .group = "job",
                  .own = own,
                  .instance = instance + own,
                  .log =
                      [this](LogLevel, const std::string& line) {
                        MutexLock lock(mu_);
                        lines_.push_back(line);
                      },
                  .lease = seconds(2)}) {
    members_.Start([this](Members members) {
      MutexLock lock(mu_);
      names_ =
          std::set<std::string>(members.names.begin(), members.names.end());
      missed_itself_ |= names_.count(members.self) == 0;
    });
  }
  ~Joined() { members_.Stop(); }
  std::set<std::string> names() {
    MutexLock lock(mu_);
    return names_;
  }
  std::vector<std::string> lines() {
    MutexLock lock(mu_);
    return lines_;
  }
  // Returns whether it was ever told of a group without itself.
  bool missed_itself() {
    MutexLock lock(mu_);
    return missed_itself_;
  }
  bool Sees(const std::set<std::string>& names) {
    return Eventually([&] { return this->names() == names; });
  }

 private:
  Mutex mu_;
  std::set<std::string> names_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> lines_ ABSL_GUARDED_BY(mu_);
  bool missed_itself_ ABSL_GUARDED_BY(mu_) = false;
  EtcdMembers members_;
};

TEST(EtcdTest, MembersComeAndGo) {
  Etcd etcd(1);
  Joined a(etcd.endpoints(), "a:1");
  ASSERT_TRUE(a.Sees({"a:1"}));
  {
    Joined b(etcd.endpoints(), "b:1");
    EXPECT_TRUE(b.Sees({"a:1", "b:1"}));
    EXPECT_TRUE(a.Sees({"a:1", "b:1"}));
  }
  // It revoked its lease, so this is at once.
  EXPECT_TRUE(a.Sees({"a:1"}));
}

TEST(EtcdTest, WithoutEtcdTheLastGroupStays) {
  Etcd etcd(1);
  Joined a(etcd.endpoints(), "a:1");
  auto b = std::make_unique<Joined>(etcd.endpoints(), "b:1");
  ASSERT_TRUE(a.Sees({"a:1", "b:1"}));
  ASSERT_TRUE(b->Sees({"a:1", "b:1"}));
  etcd.Kill(0);
  std::this_thread::sleep_for(seconds(3));
  EXPECT_THAT(a.names(), UnorderedElementsAre("a:1", "b:1"));
  etcd.Start(0);
  Joined c(etcd.endpoints(), "c:1");
  EXPECT_TRUE(a.Sees({"a:1", "b:1", "c:1"}));
  EXPECT_TRUE(b->Sees({"a:1", "b:1", "c:1"}));
  b.reset();
  EXPECT_TRUE(a.Sees({"a:1", "c:1"}));
}

TEST(EtcdTest, AStoppedServerIsLeftForTheNext) {
  Etcd etcd(3);
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(Eventually([&] { return etcd.Ready(i); }));
  }
  Joined a(etcd.endpoints(), "a:1");
  ASSERT_TRUE(a.Sees({"a:1"}));
  // Each in turn: one of them is the leader.
  std::set<std::string> all = {"a:1"};
  for (size_t i = 0; i < 3; ++i) {
    etcd.Signal(i, SIGSTOP);
    const std::string name = absl::StrCat("late", i, ":1");
    {
      Joined late(etcd.endpoints(), name);
      EXPECT_TRUE(late.Sees({"a:1", name})) << i;
      EXPECT_TRUE(a.Sees({"a:1", name})) << i;
      std::this_thread::sleep_for(milliseconds(2500));  // longer than a lease
      EXPECT_THAT(etcd.Names((i + 1) % 3), UnorderedElementsAre("a:1", name));
    }
    etcd.Signal(i, SIGCONT);
    EXPECT_TRUE(a.Sees({"a:1"}));
  }
}

TEST(EtcdTest, ALostLeaseIsReplaced) {
  Etcd etcd(1);
  Joined a(etcd.endpoints(), "a:1");
  Joined b(etcd.endpoints(), "b:1");
  ASSERT_TRUE(a.Sees({"a:1", "b:1"}));
  const auto channel =
      grpc::CreateChannel(etcd.endpoint(0), grpc::InsecureChannelCredentials());
  for (int round = 0; round < 2; ++round) {
    etcdserverpb::RangeRequest request;
    request.set_key("/shufflefs/job/b:1");
    etcdserverpb::RangeResponse found;
    grpc::ClientContext reading;
    ASSERT_TRUE(etcdserverpb::KV::NewStub(channel)
                    ->Range(&reading, request, &found)
                    .ok());
    ASSERT_EQ(found.kvs_size(), 1);
    EXPECT_EQ(found.kvs(0).value(), "instance of b:1");
    etcdserverpb::LeaseRevokeRequest revoke;
    revoke.set_id(found.kvs(0).lease());
    etcdserverpb::LeaseRevokeResponse revoked;
    grpc::ClientContext revoking;
    ASSERT_TRUE(etcdserverpb::Lease::NewStub(channel)
                    ->LeaseRevoke(&revoking, revoke, &revoked)
                    .ok());
    ASSERT_TRUE(Eventually([&] { return etcd.Names(0).count("b:1") != 0; }));
    ASSERT_TRUE(a.Sees({"a:1", "b:1"}));
  }
  EXPECT_FALSE(b.missed_itself());
}

// Loopback is no address of one daemon among those of several machines.
TEST(EtcdTest, TwoDaemonsOfOneNameSaySoAndDoNotFight) {
  Etcd etcd(1);
  ASSERT_TRUE(Eventually([&] { return etcd.Ready(0); }));
  Joined a(etcd.endpoints(), "a:1");
  ASSERT_TRUE(a.Sees({"a:1"}));
  Joined other(etcd.endpoints(), "a:1", "another instance of ");
  ASSERT_TRUE(other.Sees({"a:1"}));
  ASSERT_TRUE(Eventually([&] { return !a.lines().empty(); }));
  std::this_thread::sleep_for(seconds(3));
  Joined c(etcd.endpoints(), "c:1");
  EXPECT_TRUE(c.Sees({"a:1", "c:1"}));
  std::vector<std::string> lines = a.lines();
  for (const std::string& line : other.lines()) lines.push_back(line);
  EXPECT_LE(lines.size(), 2u);
  for (const std::string& line : lines) {
    EXPECT_THAT(line, testing::HasSubstr("another daemon registers as a:1"));
    EXPECT_THAT(line, testing::HasSubstr("peers.listen"));
  }
}

TEST(EtcdTest, NothingButAddressesIsAMember) {
  Etcd etcd(1);
  ASSERT_TRUE(Eventually([&] { return etcd.Ready(0); }));
  EtcdClient client(etcd.endpoint(0), seconds(5));
  for (const std::string name : {"no address", "a:1/b", "", "x:99999", "n"}) {
    ASSERT_EQ(client.Put("/shufflefs/job/" + name, "v", 0), absl::OkStatus());
  }
  Joined a(etcd.endpoints(), "a:1");
  EXPECT_TRUE(a.Sees({"a:1"}));
}

TEST(EtcdTest, StopWaitsForNoServer) {
  Etcd etcd(1);
  auto a = std::make_unique<Joined>(etcd.endpoints(), "a:1");
  ASSERT_TRUE(a->Sees({"a:1"}));
  etcd.Signal(0, SIGSTOP);
  const auto begin = std::chrono::steady_clock::now();
  a.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(5));
  Joined never({Loopback(FreePorts(1)[0])}, "a:1");
}

// The whole way: daemons that find each other by etcd.
TEST(EtcdTest, DaemonsJoin) {
  Etcd etcd(1);
  const std::vector<int> ports = FreePorts(2);
  const std::string a_name = Loopback(ports[0]);
  const std::string b_name = Loopback(ports[1]);
  const std::string members = "etcd:" + etcd.endpoint(0) + "/job";
  Node a(ConfigOf(members, a_name));
  ASSERT_EQ(a.Start(), absl::OkStatus());
  ASSERT_TRUE(Eventually([&] { return a.Member(a_name).self; }));
  const uint64_t revision = a.transport->group()->revision;
  Node b(ConfigOf(members, b_name));
  ASSERT_EQ(b.Start(), absl::OkStatus());
  ASSERT_TRUE(
      Eventually([&] { return a.HasJoined(b_name) && b.HasJoined(a_name); }));
  EXPECT_EQ(a.transport->group()->revision, revision + 1);
  EXPECT_TRUE(a.Read(b_name, WholeFile("f", 1000)).status.ok());
  const auto old = a.transport->group();
  b.transport->Stop();
  ASSERT_TRUE(
      Eventually([&] { return a.transport->group()->members.size() == 1; }));
  EXPECT_EQ(a.transport->group()->revision, revision + 2);
  const size_t index = old->members[0].name == b_name ? 0 : 1;
  EXPECT_TRUE(absl::IsFailedPrecondition(
      a.AskAt(old, index, WholeFile("f", 1), milliseconds(100)).get().status));
}

}  // namespace
}  // namespace shufflefs::peers
