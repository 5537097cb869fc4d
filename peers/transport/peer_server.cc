// SPDX-License-Identifier: Apache-2.0
#include "peers/transport/peer_server.h"

#include <grpc/grpc.h>

#include <chrono>
#include <utility>

#include "core/base/status.h"
#include "peers/access/greeting.h"
#include "peers/transport/wire.h"

namespace shufflefs::peers {
namespace {

using grpc::ServerBuilder;
using grpc::experimental::ExternalConnectionAcceptor;

// Of the desk: a member has one call at a time.
constexpr int kMostCallsAtDesk = 4;

std::unique_ptr<ExternalConnectionAcceptor> Prepare(const Security& security,
                                                    ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(kMostRequest));
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE,
                             static_cast<int>(kMostMetadata));
  // Nothing is compressed: neither bytes of a dataset nor a bomb.
  builder.AddChannelArgument(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET,
                             1);
  // Connections of daemons that were cut off go away.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 60000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  return builder.experimental().AddExternalConnectionAcceptor(
      ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      security.server);
}

void Hand(int fd, ExternalConnectionAcceptor& acceptor) {
  ExternalConnectionAcceptor::NewConnectionParameters connection;
  connection.fd = fd;
  acceptor.HandleNewConnection(&connection);
}

void ShutDown(std::unique_ptr<grpc::Server>& server) {
  if (server == nullptr) return;
  server->Shutdown(std::chrono::system_clock::now());
  server->Wait();
  server.reset();
}

}  // namespace

absl::StatusOr<std::unique_ptr<PeerServer>> PeerServer::Start(
    const HostPort& address, const Security& security, ServerOptions options) {
  std::unique_ptr<PeerServer> server(new PeerServer(std::move(options)));
  ASSIGN_OR_RETURN(server->gate_, ConnectionGate::Listen(address));
  RETURN_IF_ERROR(server->Build(security));
  server->OpenGate();
  return server;
}

PeerServer::PeerServer(ServerOptions options)
    : options_(std::move(options)),
      refusals_(options_.log),
      desk_handler_(options_, sessions_, refusals_),
      handler_(options_, sessions_) {}

absl::Status PeerServer::Build(const Security& security) {
  ServerBuilder desk;
  desk_.acceptor = Prepare(security, desk);
  desk.RegisterService(&desk_handler_);
  desk.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMostCallsAtDesk);
  desk.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  desk_.server = desk.BuildAndStart();
  ServerBuilder members;
  members_.acceptor = Prepare(security, members);
  members.RegisterService(&handler_);
  members_.server = members.BuildAndStart();
  if (desk_.server != nullptr && members_.server != nullptr) {
    return absl::OkStatus();
  }
  return absl::UnavailableError("peers: gRPC makes no server");
}

void PeerServer::OpenGate() {
  gate_->Start(
      {.judge = [this](const FoundGreeting& found,
                       const std::string& host) { return Judge(found, host); },
       .to_desk = [this](int fd) { Hand(fd, *desk_.acceptor); },
       .to_members = [this](int fd) { Hand(fd, *members_.acceptor); },
       .patience = options_.patience});
}

GateWay PeerServer::Judge(const FoundGreeting& found, const std::string& host) {
  const Greeting& greeting = found.greeting;
  if (found.state == FoundGreeting::State::kEarlier) {
    // Join tells both sides what differs. With a secret, nobody gets there
    // without a proof.
    if (options_.secret.none()) return GateWay::kDesk;
    refusals_.Write({.name = "a caller", .host = host},
                    "it is no shufflefs of this version");
    return GateWay::kClosed;
  }
  if (!greeting.token.empty()) {
    return sessions_.Enter(greeting.token) ? GateWay::kMembers
                                           : GateWay::kNoSession;
  }
  if (IsProven(greeting, options_.secret)) return GateWay::kDesk;
  refusals_.Write({.name = greeting.from, .host = host}, kWrongSecretText);
  return GateWay::kWrongSecret;
}

PeerServer::~PeerServer() { Stop(); }

void PeerServer::Stop() {
  // Null if there was no port for it.
  if (gate_ != nullptr) gate_->Stop();
  handler_.Stop();
  ShutDown(desk_.server);
  ShutDown(members_.server);
}

}  // namespace shufflefs::peers
