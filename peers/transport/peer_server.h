// SPDX-License-Identifier: Apache-2.0
// PeerServer listens for other daemons.
#ifndef SHUFFLEFS_PEERS_TRANSPORT_PEER_SERVER_H_
#define SHUFFLEFS_PEERS_TRANSPORT_PEER_SERVER_H_

#include <grpcpp/server.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "peers/members/addresses.h"
#include "peers/transport/request_handler.h"
#include "peers/transport/security.h"

namespace shufflefs::peers {

// Made, stopped and destroyed by one thread. gRPC has threads for it, as many
// as it has for links.
class PeerServer {
 public:
  // Unavailable: the address is in use, or is none of this machine.
  static absl::StatusOr<std::unique_ptr<PeerServer>> Start(
      const HostPort& address, const Security& security,
      RequestHandlerOptions options);
  ~PeerServer();

  // With the port that the system chose.
  const HostPort& address() const { return address_; }
  // Thread-safe.
  uint64_t SentTo(const std::string& instance) const {
    return handler_.SentTo(instance);
  }
  // Nobody joins before: see RequestHandler.
  void SetListHash(uint64_t list) { handler_.SetListHash(list); }
  // Answers all requests with Unavailable. Waits for calls of the service that
  // run, for nothing that the service owes.
  void Stop();

 private:
  explicit PeerServer(RequestHandlerOptions options)
      : handler_(std::move(options)) {}

  RequestHandler handler_;
  HostPort address_;
  std::unique_ptr<grpc::Server> server_;  // null after Stop
};

}  // namespace shufflefs::peers

#endif  // SHUFFLEFS_PEERS_TRANSPORT_PEER_SERVER_H_
