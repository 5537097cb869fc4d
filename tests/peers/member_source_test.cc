// SPDX-License-Identifier: Apache-2.0
// Lists, Slurm and DNS as sources of members.
#include "peers/members/member_source.h"

#include <cstdlib>

#include "peers/members/dns_members.h"
#include "tests/peers/peer_fixture.h"

namespace shufflefs::peers {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

absl::StatusOr<std::unique_ptr<MemberSource>> Make(const std::string& members) {
  return MakeMemberSource({.members = members,
                           .own = {"10.0.0.2", 7373},
                           .instance = "",
                           .log = [](LogLevel, const std::string&) {}});
}

Members Listed(const std::string& text) {
  auto source = Make(text);
  EXPECT_TRUE(source.ok()) << source.status();
  Members members;
  if (source.ok()) {
    (*source)->Start([&](Members now) { members = std::move(now); });
    (*source)->Stop();
  }
  return members;
}

TEST(MemberSourceTest, AListIsTakenAsItIs) {
  const Members members = Listed("10.0.0.1:7373; 10.0.0.2 ;node3:80;");
  EXPECT_THAT(members.names,
              ElementsAre("10.0.0.1:7373", "10.0.0.2:7373", "node3:80"));
  EXPECT_EQ(members.self, "10.0.0.2:7373");
  EXPECT_EQ(Listed("10.0.0.1:7373;10.0.0.2:7374").self, "");
}

TEST(MemberSourceTest, NonsenseNamesTheKey) {
  for (const std::string text :
       {"a b:80", "node1:0", "dns:", "dns:a b:80", "etcd:node1:80",
        "etcd:node1:80/", "etcd:/name", "etcd:a b/name", "node1:80,node2:80"}) {
    const absl::Status status = Make(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("peers: ")) << text;
  }
  EXPECT_TRUE(Make("dns:peers.example:7373").ok());
  EXPECT_TRUE(Make("etcd:node1:2379;node2:2379/job").ok());
}

TEST(MemberSourceTest, SlurmNamesTheNodes) {
  unsetenv("SLURM_JOB_NODELIST");
  unsetenv("SLURMD_NODENAME");
  EXPECT_TRUE(absl::IsFailedPrecondition(Make("slurm").status()));
  setenv("SLURM_JOB_NODELIST", "n[01-02],login", 1);
  setenv("SLURMD_NODENAME", "n02", 1);
  const Members members = Listed("slurm");
  EXPECT_THAT(members.names, ElementsAre("n01:7373", "n02:7373", "login:7373"));
  EXPECT_EQ(members.self, "n02:7373");
  setenv("SLURM_JOB_NODELIST", "n[01-", 1);
  EXPECT_TRUE(absl::IsInvalidArgument(Make("slurm").status()));
  unsetenv("SLURM_JOB_NODELIST");
  unsetenv("SLURMD_NODENAME");
}

TEST(MemberSourceTest, SlurmsStepNamesItsNodesIfItHasSeveral) {
  setenv("SLURM_JOB_NODELIST", "n[01-04]", 1);
  setenv("SLURMD_NODENAME", "n03", 1);
  setenv("SLURM_STEP_NODELIST", "n[02-03]", 1);
  const Members members = Listed("slurm");
  EXPECT_THAT(members.names, ElementsAre("n02:7373", "n03:7373"));
  EXPECT_EQ(members.self, "n03:7373");
  setenv("SLURM_STEP_NODELIST", "n03", 1);
  EXPECT_EQ(Listed("slurm").names.size(), 4u);
  setenv("SLURM_STEP_NODELIST", "n[03", 1);
  EXPECT_TRUE(absl::IsInvalidArgument(Make("slurm").status()));
  for (const char* name :
       {"SLURM_JOB_NODELIST", "SLURMD_NODENAME", "SLURM_STEP_NODELIST"}) {
    unsetenv(name);
  }
}

// A resolver whose answers a test chooses.
struct FakeDns {
  Mutex mu;
  std::vector<std::string> answer ABSL_GUARDED_BY(mu);
  int asked ABSL_GUARDED_BY(mu) = 0;
  void Set(std::vector<std::string> addresses) {
    MutexLock lock(mu);
    answer = std::move(addresses);
  }
  int Asked() {
    MutexLock lock(mu);
    return asked;
  }
};

TEST(DnsMembersTest, FollowTheAnswersAndKeepTheLast) {
  auto dns = std::make_shared<FakeDns>();
  dns->Set({"10.0.0.2", "10.0.0.1", "10.0.0.2"});
  DnsMembers source(
      {"peers", 80},
      [dns](const std::string& host) {
        EXPECT_EQ(host, "peers");
        MutexLock lock(dns->mu);
        ++dns->asked;
        return dns->answer;
      },
      milliseconds(10));
  Mutex mu;
  std::vector<std::vector<std::string>> seen;
  source.Start([&](Members now) {
    MutexLock lock(mu);
    seen.push_back(std::move(now.names));
  });
  const auto count = [&] {
    MutexLock lock(mu);
    return seen.size();
  };
  ASSERT_TRUE(Eventually([&] { return count() == 1; }));
  dns->Set({});  // nobody answers
  const int asked = dns->Asked();
  ASSERT_TRUE(Eventually([&] { return dns->Asked() > asked + 3; }));
  dns->Set({"10.0.0.3", "fe80::1"});
  ASSERT_TRUE(Eventually([&] { return count() == 2; }));
  source.Stop();
  MutexLock lock(mu);
  EXPECT_THAT(seen, ElementsAre(ElementsAre("10.0.0.1:80", "10.0.0.2:80"),
                                ElementsAre("10.0.0.3:80", "[fe80::1]:80")));
}

TEST(DnsMembersTest, AResolverThatHangsDelaysNothing) {
  auto hang = std::make_shared<std::promise<void>>();
  const std::shared_future<void> hung = hang->get_future().share();
  {
    DnsMembers source({"peers", 80}, [hung](const std::string&) {
      hung.wait();
      return std::vector<std::string>{"10.0.0.1"};
    });
    source.Start([](Members) { ADD_FAILURE() << "called after Stop"; });
    source.Refresh();
    source.Stop();
  }
  hang->set_value();
}

TEST(DnsMembersTest, ADaemonWithAddressesOfTwoFamiliesIsOneMember) {
  const std::vector<std::string> both = {"10.0.0.1", "fd00::1", "10.0.0.2",
                                         "fd00::2"};
  EXPECT_THAT(DnsMembers::OfOneFamily(both, "10.0.0.2"),
              ElementsAre("10.0.0.1", "10.0.0.2"));
  EXPECT_THAT(DnsMembers::OfOneFamily(both, "fd00::2"),
              ElementsAre("fd00::1", "fd00::2"));
  EXPECT_THAT(DnsMembers::OfOneFamily({"fd00::1"}, "10.0.0.2"),
              ElementsAre("fd00::1"));
}

TEST(DnsMembersTest, TheSystemKnowsLoopback) {
  EXPECT_THAT(DnsMembers::System("127.0.0.1"), ElementsAre("127.0.0.1"));
  EXPECT_THAT(DnsMembers::System("no-such-host.invalid"), ElementsAre());
}

}  // namespace
}  // namespace shufflefs::peers
