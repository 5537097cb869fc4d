// SPDX-License-Identifier: Apache-2.0
// Channels of gRPC to members, and how calls over them end.
#ifndef SHUFFLEFS_PEERS_TRANSPORT_CHANNEL_H_
#define SHUFFLEFS_PEERS_TRANSPORT_CHANNEL_H_

#include <grpcpp/channel.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <string>

#include "peers/transport/security.h"

namespace shufflefs::peers {

// To the member at `name`, which is host:port. Channels of different numbers
// have connections of their own.
std::shared_ptr<grpc::Channel> ChannelTo(const std::string& name, int number,
                                         const Security& security);

// Whether nobody answered, or not in time.
bool IsSilence(const grpc::Status& status);
// An error of the transport, for people.
std::string Describe(const grpc::Status& status);

// Makes gRPC keep the threads of its callbacks as long as the process lives.
// It would end them with the last channel, and a callback may release that: its
// thread then waits for itself, and frees what it still uses (gRPC 1.51).
// Call it before the first link is made. Blocks for one call that is cancelled.
void KeepCallbackThreads();

}  // namespace shufflefs::peers

#endif  // SHUFFLEFS_PEERS_TRANSPORT_CHANNEL_H_
