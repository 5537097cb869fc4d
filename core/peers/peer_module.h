// SPDX-License-Identifier: Apache-2.0
// Finds the module that carries bytes between peers.
#ifndef SHUFFLEFS_CORE_PEERS_PEER_MODULE_H_
#define SHUFFLEFS_CORE_PEERS_PEER_MODULE_H_

#include "absl/status/statusor.h"
#include "core/peers/peer_transport.h"

namespace shufflefs {

// Loads the module, which stays until the process ends: shufflefs_peers.so
// beside the program as it is built, or where packages install it, or the file
// that $SHUFFLEFS_PEERS_MODULE names. A module that is found without this
// variable is loaded only if nobody can have put it there but root, the user of
// this process and the owner of the program. Blocks for the disk. Errors:
// FailedPrecondition, with what to do.
absl::StatusOr<PeerTransportMaker> LoadPeerTransport();

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_PEERS_PEER_MODULE_H_
