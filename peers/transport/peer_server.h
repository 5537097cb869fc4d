// SPDX-License-Identifier: Apache-2.0
// PeerServer listens for other daemons.
#ifndef SHUFFLEFS_PEERS_TRANSPORT_PEER_SERVER_H_
#define SHUFFLEFS_PEERS_TRANSPORT_PEER_SERVER_H_

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "peers/access/connection_gate.h"
#include "peers/access/security.h"
#include "peers/members/addresses.h"
#include "peers/transport/join_handler.h"
#include "peers/transport/refusal_log.h"
#include "peers/transport/request_handler.h"
#include "peers/transport/server_options.h"
#include "peers/transport/sessions.h"

namespace shufflefs::peers {

// There are two servers of gRPC: the desk, for all who have not joined, and one
// for members. A gate in front of both lets few to the desk, and only members
// to theirs. So what a stranger can make gRPC keep is bounded.
//
// Made, stopped and destroyed by one thread. gRPC has threads for it, as many
// as it has for links.
class PeerServer {
 public:
  // Unavailable: the address is in use, or is none of this machine.
  static absl::StatusOr<std::unique_ptr<PeerServer>> Start(
      const HostPort& address, const Security& security, ServerOptions options);
  ~PeerServer();

  // With the port that the system chose.
  const HostPort& address() const { return gate_->address(); }
  // Thread-safe.
  uint64_t SentTo(const std::string& instance) const {
    return sessions_.SentTo(instance);
  }
  // Nobody joins before: see JoinHandler.
  void SetListHash(uint64_t list) { desk_handler_.SetListHash(list); }
  // How many members there are.
  void SetMembers(size_t count) { gate_->SetMembers(count); }
  // Answers all requests with Unavailable. Waits for calls of the service that
  // run, for nothing that the service owes.
  void Stop();

 private:
  using Acceptor = grpc::experimental::ExternalConnectionAcceptor;
  // A server of gRPC, and the way of connections to it.
  struct Part {
    std::unique_ptr<grpc::Server> server;
    std::unique_ptr<Acceptor> acceptor;
  };

  explicit PeerServer(ServerOptions options);
  // Unavailable if gRPC makes no server.
  absl::Status Build(const Security& security);
  void OpenGate();
  GateWay Judge(const FoundGreeting& found, const std::string& host);

  // Constant after Start.
  const ServerOptions options_;
  // Thread-safe themselves.
  RefusalLog refusals_;
  Sessions sessions_;
  JoinHandler desk_handler_;
  RequestHandler handler_;

  Part desk_;     // no server after Stop
  Part members_;  // the same
  std::unique_ptr<ConnectionGate> gate_;
};

}  // namespace shufflefs::peers

#endif  // SHUFFLEFS_PEERS_TRANSPORT_PEER_SERVER_H_
