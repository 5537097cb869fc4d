// SPDX-License-Identifier: Apache-2.0
// Addresses of daemons as users write them, and those of this machine.
#ifndef SHUFFLEFS_PEERS_MEMBERS_ADDRESSES_H_
#define SHUFFLEFS_PEERS_MEMBERS_ADDRESSES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace shufflefs::peers {

inline constexpr uint16_t kDefaultPort = 7373;

struct HostPort {
  std::string host;          // a name or an address; IPv6 without brackets
  uint16_t port = 0;         // 0: the system chooses
  std::string Text() const;  // host:port or [host]:port
  friend bool operator==(const HostPort&, const HostPort&) = default;
};

// Parses host:port, [address]:port or, with kDefaultPort, a host alone.
// InvalidArgument quotes what is wrong. Does not look names up.
absl::StatusOr<HostPort> ParseHostPort(absl::string_view text);

// True for localhost and the numeric addresses that only this machine reaches.
bool IsLoopback(absl::string_view host);

// The numeric addresses of the interfaces that are up, without loopback.
// Unavailable if the system does not tell them.
absl::StatusOr<std::vector<std::string>> LocalAddresses();

// Where a daemon listens that has no peers.listen: the first private address
// of IPv4, at kDefaultPort. NotFound if there is none.
absl::StatusOr<HostPort> FirstPrivateAddress();

// True if `member` is certainly a daemon that listens at `own`: it has the same
// port, and the host is an address or the name of this machine. Does not look
// names up, so false may be wrong.
bool IsSameAddress(const HostPort& member, const HostPort& own);

}  // namespace shufflefs::peers

#endif  // SHUFFLEFS_PEERS_MEMBERS_ADDRESSES_H_
