// SPDX-License-Identifier: Apache-2.0
#include "peers/members/addresses.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <iterator>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs::peers {
namespace {

TEST(AddressesTest, AreReadAndWritten) {
  const std::vector<std::pair<std::string, HostPort>> cases = {
      {"node1:80", {"node1", 80}},
      {"node1", {"node1", kDefaultPort}},
      {"10.1.2.3:0", {"10.1.2.3", 0}},
      {"[::1]:7", {"::1", 7}},
      {"[fe80::1]", {"fe80::1", kDefaultPort}},
      {"a-b_c.example:65535", {"a-b_c.example", 65535}},
  };
  for (const auto& [text, expected] : cases) {
    const absl::StatusOr<HostPort> parsed = ParseHostPort(text);
    ASSERT_TRUE(parsed.ok()) << text << ": " << parsed.status();
    EXPECT_EQ(*parsed, expected) << text;
    EXPECT_EQ(*ParseHostPort(parsed->Text()), expected) << parsed->Text();
  }
}

TEST(AddressesTest, NonsenseIsQuoted) {
  for (const std::string text :
       {"", ":80", "node1:", "node1:65536", "node1:-1", "node1:+1", "node1:1x",
        "::1", "[::1", "[::1]80", "[node1]:80", "a b:80", "a/b:80",
        "node1:99999999999999999999"}) {
    const absl::StatusOr<HostPort> parsed = ParseHostPort(text);
    ASSERT_TRUE(absl::IsInvalidArgument(parsed.status())) << text;
    EXPECT_EQ(parsed.status().message(),
              "\"" + text + "\" is not an address (example: node1:7373)");
  }
}

TEST(AddressesTest, LoopbackIsKnown) {
  for (const std::string host :
       {"127.0.0.1", "127.9.9.9", "localhost", "::1"}) {
    EXPECT_TRUE(IsLoopback(host)) << host;
  }
  for (const std::string host : {"10.0.0.1", "0.0.0.0", "::", "127.example"}) {
    EXPECT_FALSE(IsLoopback(host)) << host;
  }
}

TEST(AddressesTest, ThisDaemonIsRecognised) {
  char name[256] = "";
  ASSERT_EQ(gethostname(name, sizeof name - 1), 0);
  const std::string host = name;
  EXPECT_TRUE(IsSameAddress({"10.9.9.9", 5}, {"10.9.9.9", 5}));
  EXPECT_FALSE(IsSameAddress({"10.9.9.9", 6}, {"10.9.9.9", 5}));
  EXPECT_FALSE(IsSameAddress({"10.9.9.8", 5}, {"10.9.9.9", 5}));
  EXPECT_TRUE(IsSameAddress({"127.0.0.1", 5}, {"0.0.0.0", 5}));
  EXPECT_FALSE(IsSameAddress({"127.0.0.1", 5}, {"10.9.9.9", 5}));
  EXPECT_TRUE(IsSameAddress({host, 5}, {"0.0.0.0", 5}));
  EXPECT_FALSE(IsSameAddress({host, 5}, {"127.0.0.1", 5}));
  const auto addresses = LocalAddresses();
  ASSERT_TRUE(addresses.ok()) << addresses.status();
  for (const std::string& own : *addresses) {
    EXPECT_TRUE(IsSameAddress({own, 5}, {"0.0.0.0", 5})) << own;
  }
}

// As systemd has it for a unit that may use the families of IP only.
bool ForbidNetlink() {
  constexpr uint32_t kFirstArgument = offsetof(seccomp_data, args);
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kFirstArgument),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program = {std::size(filter), filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(AddressesTest, ASystemThatDoesNotTellThemIsNoMachineWithoutAddresses) {
  const pid_t child = fork();
  if (child == 0) {
    if (!ForbidNetlink()) _exit(2);
    const auto first = FirstPrivateAddress();
    const bool said =
        absl::IsUnavailable(first.status()) &&
        absl::StrContains(first.status().message(), "allow AF_NETLINK");
    _exit(said && !IsSameAddress({"10.9.9.9", 5}, {"0.0.0.0", 5}) ? 0 : 1);
  }
  int how = 0;
  ASSERT_EQ(waitpid(child, &how, 0), child);
  EXPECT_TRUE(WIFEXITED(how));
  EXPECT_EQ(WEXITSTATUS(how), 0);
}

}  // namespace
}  // namespace shufflefs::peers
