// SPDX-License-Identifier: Apache-2.0
// RequestHandler answers the calls of members: all of peers/proto/peers.proto
// but Greet and Join.
#ifndef SHUFFLEFS_PEERS_TRANSPORT_REQUEST_HANDLER_H_
#define SHUFFLEFS_PEERS_TRANSPORT_REQUEST_HANDLER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "peers/proto/peers.grpc.pb.h"
#include "peers/transport/owed_answers.h"
#include "peers/transport/server_options.h"
#include "peers/transport/sessions.h"

namespace shufflefs::peers {

// Called by threads of gRPC, several at a time. Nothing blocks. Each request is
// checked before the service hears of it: who asks, for which dataset, and
// every size.
class RequestHandler : public v1::Peers::WithRawCallbackMethod_Ping<
                           v1::Peers::WithRawCallbackMethod_ReadExtent<
                               v1::Peers::WithRawCallbackMethod_Tell<
                                   v1::Peers::WithRawCallbackMethod_BindNames<
                                       v1::Peers::Service>>>> {
 public:
  // Both outlive this object.
  RequestHandler(const ServerOptions& options, const Sessions& sessions);

  using Context = grpc::CallbackServerContext;
  using Buffer = grpc::ByteBuffer;
  grpc::ServerUnaryReactor* Ping(Context* context, const Buffer* request,
                                 Buffer* response) override;
  grpc::ServerUnaryReactor* ReadExtent(Context* context, const Buffer* request,
                                       Buffer* response) override;
  grpc::ServerUnaryReactor* Tell(Context* context, const Buffer* request,
                                 Buffer* response) override;
  grpc::ServerUnaryReactor* BindNames(Context* context, const Buffer* request,
                                      Buffer* response) override;

  // Completes all answers that are owed, and refuses what comes later.
  void Stop() { answers_.Stop(); }

 private:
  using Session = std::shared_ptr<const Sessions::Session>;
  // Reads the request into `message`, if it is by a member and for the dataset.
  template <typename Message>
  absl::StatusOr<Session> Open(const Context& context, absl::string_view method,
                               const Buffer& request, Message& message) const;
  absl::StatusOr<Session> SessionOf(const Context& context,
                                    absl::string_view method,
                                    const std::string& request) const;

  // Constant after construction.
  const ServerOptions& options_;
  // Thread-safe themselves.
  const Sessions& sessions_;
  OwedAnswers answers_;
};

}  // namespace shufflefs::peers

#endif  // SHUFFLEFS_PEERS_TRANSPORT_REQUEST_HANDLER_H_
