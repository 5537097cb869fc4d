// SPDX-License-Identifier: Apache-2.0
#include "peers/access/listen_sockets.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"

namespace shufflefs::peers {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* all) const { freeaddrinfo(all); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Addresses Resolve(const std::string& host, uint16_t port) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* all = nullptr;
  if (getaddrinfo(host.c_str(), absl::StrCat(port).c_str(), &hints, &all) !=
      0) {
    return nullptr;
  }
  return Addresses(all);
}

// -1 if nobody can listen there.
int Listen(const addrinfo& at, bool both_kinds) {
  const int fd =
      socket(at.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const int yes = 1;
  const int only_six = both_kinds ? 0 : 1;
  // A daemon that is started again need not wait for its old connections.
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (at.ai_family == AF_INET6) {
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only_six, sizeof only_six);
  }
  if (bind(fd, at.ai_addr, at.ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0) {
    return fd;
  }
  close(fd);
  return -1;
}

uint16_t PortOf(int fd) {
  sockaddr_storage at = {};
  socklen_t size = sizeof at;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) != 0) return 0;
  return ntohs(at.ss_family == AF_INET
                   ? reinterpret_cast<const sockaddr_in*>(&at)->sin_port
                   : reinterpret_cast<const sockaddr_in6*>(&at)->sin6_port);
}

std::vector<int> ListenAll(const std::string& host, bool both_kinds,
                           uint16_t& port) {
  std::vector<int> sockets;
  const Addresses all = Resolve(host, port);
  for (const addrinfo* at = all.get(); at != nullptr; at = at->ai_next) {
    if (port != 0 && at->ai_family == AF_INET) {
      reinterpret_cast<sockaddr_in*>(at->ai_addr)->sin_port = htons(port);
    } else if (port != 0 && at->ai_family == AF_INET6) {
      reinterpret_cast<sockaddr_in6*>(at->ai_addr)->sin6_port = htons(port);
    }
    const int fd = Listen(*at, both_kinds);
    if (fd < 0) continue;
    sockets.push_back(fd);
    port = PortOf(fd);
  }
  return sockets;
}

}  // namespace

std::vector<int> OpenListenSockets(HostPort& address) {
  if (address.host != "0.0.0.0" && address.host != "::") {
    return ListenAll(address.host, false, address.port);
  }
  std::vector<int> sockets = ListenAll("::", true, address.port);
  if (!sockets.empty()) return sockets;
  // A machine without IPv6.
  return ListenAll("0.0.0.0", false, address.port);
}

}  // namespace shufflefs::peers
