// SPDX-License-Identifier: Apache-2.0
#include "peers/transport/peer_server.h"

#include <grpc/grpc.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "peers/transport/wire.h"

namespace shufflefs::peers {

absl::StatusOr<std::unique_ptr<PeerServer>> PeerServer::Start(
    const HostPort& address, const Security& security,
    RequestHandlerOptions options) {
  std::unique_ptr<PeerServer> server(new PeerServer(std::move(options)));
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(address.Text(), security.server, &port);
  builder.RegisterService(&server->handler_);
  builder.SetMaxReceiveMessageSize(static_cast<int>(kMostRequest));
  // A port that another process has is an error.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE,
                             static_cast<int>(kMostMetadata));
  // Nothing is compressed: neither bytes of a dataset nor a bomb.
  builder.AddChannelArgument(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET,
                             1);
  // Connections of daemons that were cut off go away.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 60000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr || port == 0) {
    return absl::UnavailableError(absl::StrCat(
        "peers.listen: cannot listen on ", address.Text(),
        "; is the port in use, or the address of another machine?"));
  }
  server->address_ = {address.host, static_cast<uint16_t>(port)};
  return server;
}

PeerServer::~PeerServer() { Stop(); }

void PeerServer::Stop() {
  if (server_ == nullptr) return;
  handler_.Stop();
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  server_.reset();
}

}  // namespace shufflefs::peers
