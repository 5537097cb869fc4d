// SPDX-License-Identifier: Apache-2.0
// Sockets that listen at the address of this daemon.
#ifndef SHUFFLEFS_PEERS_ACCESS_LISTEN_SOCKETS_H_
#define SHUFFLEFS_PEERS_ACCESS_LISTEN_SOCKETS_H_

#include <vector>

#include "peers/members/addresses.h"

namespace shufflefs::peers {

// One for each address of the host. They do not block, and the caller closes
// them. 0.0.0.0 and :: stand for all addresses, of both kinds. If the port is
// 0, the system chooses one, and `address` then has it. Empty if the port is in
// use or the host is another machine.
std::vector<int> OpenListenSockets(HostPort& address);

}  // namespace shufflefs::peers

#endif  // SHUFFLEFS_PEERS_ACCESS_LISTEN_SOCKETS_H_
