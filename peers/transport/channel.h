// SPDX-License-Identifier: Apache-2.0
// Channels of gRPC to members, and how calls over them end.
#ifndef SHUFFLEFS_PEERS_TRANSPORT_CHANNEL_H_
#define SHUFFLEFS_PEERS_TRANSPORT_CHANNEL_H_

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <string>
#include <vector>

#include "peers/access/secret.h"
#include "peers/access/security.h"

namespace shufflefs::peers {

// For calls to the member at `name`, which is host:port. Its connection is its
// own, and begins with a greeting of these headers.
std::shared_ptr<grpc::GenericStub> StubTo(const std::string& name,
                                          const Security& security,
                                          const std::string& greeting);

// Those of a session, one per connection.
std::vector<std::shared_ptr<grpc::GenericStub>> StubsTo(
    const std::string& name, const Security& security,
    const std::string& session, const Secret& key);

// Whether nobody answered, or not in time.
bool IsSilence(const grpc::Status& status);
// Whether the member's gate refused the greeting, because of the secret, or
// because it does not know the session (any more).
bool IsWrongSecret(const grpc::Status& status);
bool IsUnknownSession(const grpc::Status& status);
// An error of the transport, for people.
std::string Describe(const grpc::Status& status);

// Makes gRPC keep the threads of its callbacks as long as the process lives.
// It would end them with the last channel, and a callback may release that: its
// thread then waits for itself, and frees what it still uses (gRPC 1.51).
// Call it before the first link is made. Blocks for one call that is cancelled.
void KeepCallbackThreads();

}  // namespace shufflefs::peers

#endif  // SHUFFLEFS_PEERS_TRANSPORT_CHANNEL_H_
