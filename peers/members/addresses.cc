// SPDX-License-Identifier: Apache-2.0
#include "peers/members/addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace shufflefs::peers {
namespace {

constexpr size_t kMostHost = 255;  // bytes

absl::Status NotAnAddress(absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text.substr(0, 300), "\" is not an address (example: node1:7373)"));
}

bool IsHost(absl::string_view host, bool brackets) {
  if (host.empty() || host.size() > kMostHost) return false;
  if (brackets) {
    in6_addr address;
    return inet_pton(AF_INET6, std::string(host).c_str(), &address) == 1;
  }
  return std::all_of(host.begin(), host.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' ||
           c == '-' || c == '_';
  });
}

std::string Numeric(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address->sa_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr,
              text, sizeof text);
  } else if (address->sa_family == AF_INET6) {
    inet_ntop(AF_INET6,
              &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, text,
              sizeof text);
  }
  return text;
}

bool IsPrivate(const std::string& host) {
  in_addr address;
  if (inet_pton(AF_INET, host.c_str(), &address) != 1) return false;
  const uint32_t bits = ntohl(address.s_addr);
  return bits >> 24 == 10 ||                // 10.0.0.0/8
         bits >> 20 == 0xac1 ||             // 172.16.0.0/12
         bits >> 16 == 0xc0a8 ||            // 192.168.0.0/16
         bits >> 22 == (0x64400000 >> 22);  // 100.64.0.0/10
}

// "node1" of "node1.cluster.example".
absl::string_view FirstLabel(absl::string_view host) {
  return host.substr(0, host.find('.'));
}

bool IsThisMachine(const std::string& host) {
  char name[kMostHost + 1] = "";
  if (gethostname(name, sizeof name - 1) == 0 && name[0] != '\0' &&
      (host == name ||
       (host == FirstLabel(name) && !absl::StrContains(host, '.')))) {
    return true;
  }
  const auto own = LocalAddresses();
  return own.ok() && std::find(own->begin(), own->end(), host) != own->end();
}

bool IsAny(absl::string_view host) { return host == "0.0.0.0" || host == "::"; }

}  // namespace

std::string HostPort::Text() const {
  return absl::StrContains(host, ':') ? absl::StrCat("[", host, "]:", port)
                                      : absl::StrCat(host, ":", port);
}

absl::StatusOr<HostPort> ParseHostPort(absl::string_view text) {
  absl::string_view host = text;
  absl::string_view rest;
  const bool brackets = absl::StartsWith(text, "[");
  if (brackets) {
    const size_t end = text.find(']');
    if (end == absl::string_view::npos) return NotAnAddress(text);
    host = text.substr(1, end - 1);
    rest = text.substr(end + 1);
  } else if (const size_t colon = text.rfind(':');
             colon != absl::string_view::npos) {
    host = text.substr(0, colon);
    rest = text.substr(colon);
  }
  HostPort result{.host = std::string(host), .port = kDefaultPort};
  if (!IsHost(host, brackets)) return NotAnAddress(text);
  if (rest.empty()) return result;
  uint32_t port = 0;
  if (rest[0] != ':' || rest.size() < 2 || rest.size() > 6 ||
      !std::isdigit(static_cast<unsigned char>(rest[1])) ||
      !absl::SimpleAtoi(rest.substr(1), &port) || port > 65535) {
    return NotAnAddress(text);
  }
  result.port = static_cast<uint16_t>(port);
  return result;
}

bool IsLoopback(absl::string_view host) {
  in_addr address;
  if (inet_pton(AF_INET, std::string(host).c_str(), &address) == 1) {
    return ntohl(address.s_addr) >> 24 == 127;
  }
  return host == "localhost" || host == "::1";
}

absl::StatusOr<std::vector<std::string>> LocalAddresses() {
  ifaddrs* found = nullptr;
  if (getifaddrs(&found) != 0) {
    // Under systemd, RestrictAddressFamilies may leave out AF_NETLINK.
    return absl::UnavailableError(
        absl::StrCat("the system does not tell this machine's addresses (",
                     std::strerror(errno),
                     "); allow AF_NETLINK, or set peers.listen = host:port"));
  }
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> keep(found, freeifaddrs);
  std::vector<std::string> addresses;
  for (const ifaddrs* each = found; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || (each->ifa_flags & IFF_UP) == 0 ||
        (each->ifa_flags & IFF_LOOPBACK) != 0) {
      continue;
    }
    std::string text = Numeric(each->ifa_addr);
    if (!text.empty()) addresses.push_back(std::move(text));
  }
  return addresses;
}

absl::StatusOr<HostPort> FirstPrivateAddress() {
  ASSIGN_OR_RETURN(const std::vector<std::string> own, LocalAddresses());
  for (const std::string& address : own) {
    if (IsPrivate(address)) return HostPort{address, kDefaultPort};
  }
  return absl::NotFoundError(
      "this machine has no private address; set peers.listen = host:port");
}

bool IsSameAddress(const HostPort& member, const HostPort& own) {
  if (member.port != own.port) return false;
  if (member.host == own.host) return true;
  // Loopback has many names. It is this machine for those that listen on all
  // addresses or on loopback.
  if (IsLoopback(member.host)) return IsAny(own.host);
  return !IsLoopback(own.host) && IsThisMachine(member.host) &&
         (IsAny(own.host) || IsThisMachine(own.host));
}

}  // namespace shufflefs::peers
