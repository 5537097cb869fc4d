// SPDX-License-Identifier: Apache-2.0
// What the parts of PeerServer share.
#ifndef SHUFFLEFS_PEERS_TRANSPORT_SERVER_OPTIONS_H_
#define SHUFFLEFS_PEERS_TRANSPORT_SERVER_OPTIONS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "core/peers/peer_transport.h"
#include "peers/access/secret.h"
#include "peers/members/member_source.h"

namespace shufflefs::peers {

struct ServerOptions {
  PeerIdentity identity;
  std::string instance;
  Secret secret;
  bool tls = false;
  PeerService* service = nullptr;
  LogLine log;
  // Told the hash of the group as a caller knows it. Must not block.
  std::function<void(uint64_t)> seen_group;
  // With a stranger's greeting, and then with its Greet and Join.
  std::chrono::milliseconds patience{10000};
};

}  // namespace shufflefs::peers

#endif  // SHUFFLEFS_PEERS_TRANSPORT_SERVER_OPTIONS_H_
