// SPDX-License-Identifier: Apache-2.0
// RequestHandler answers the calls of peers/proto/peers.proto.
#ifndef SHUFFLEFS_PEERS_TRANSPORT_REQUEST_HANDLER_H_
#define SHUFFLEFS_PEERS_TRANSPORT_REQUEST_HANDLER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/base/mutex.h"
#include "core/peers/peer_transport.h"
#include "peers/members/member_source.h"
#include "peers/proto/peers.grpc.pb.h"
#include "peers/transport/owed_answers.h"
#include "peers/transport/secret.h"
#include "peers/transport/sessions.h"

namespace shufflefs::peers {

struct RequestHandlerOptions {
  PeerIdentity identity;
  std::string instance;
  Secret secret;
  bool tls = false;
  PeerService* service = nullptr;
  LogLine log;
  // Told the hash of the group as a caller knows it. Must not block.
  std::function<void(uint64_t)> seen_group;
};

// Called by threads of gRPC, several at a time. Nothing blocks. Each request is
// checked before the service hears of it: who asks, for which dataset, and
// every size.
class RequestHandler
    : public v1::Peers::WithRawCallbackMethod_Greet<
          v1::Peers::WithRawCallbackMethod_Join<
              v1::Peers::WithRawCallbackMethod_Ping<
                  v1::Peers::WithRawCallbackMethod_ReadExtent<
                      v1::Peers::WithRawCallbackMethod_Tell<
                          v1::Peers::WithRawCallbackMethod_BindNames<
                              v1::Peers::Service>>>>>> {
 public:
  explicit RequestHandler(RequestHandlerOptions options);

  using Context = grpc::CallbackServerContext;
  using Buffer = grpc::ByteBuffer;
  grpc::ServerUnaryReactor* Greet(Context* context, const Buffer* request,
                                  Buffer* response) override;
  grpc::ServerUnaryReactor* Join(Context* context, const Buffer* request,
                                 Buffer* response) override;
  grpc::ServerUnaryReactor* Ping(Context* context, const Buffer* request,
                                 Buffer* response) override;
  grpc::ServerUnaryReactor* ReadExtent(Context* context, const Buffer* request,
                                       Buffer* response) override;
  grpc::ServerUnaryReactor* Tell(Context* context, const Buffer* request,
                                 Buffer* response) override;
  grpc::ServerUnaryReactor* BindNames(Context* context, const Buffer* request,
                                      Buffer* response) override;

  // Bytes that went to a member.
  uint64_t SentTo(const std::string& instance) const {
    return sessions_.SentTo(instance);
  }
  // Nobody joins before. The hash of the list of members, or 0 if there is
  // none.
  void SetListHash(uint64_t list);
  // Completes all answers that are owed, and refuses what comes later.
  void Stop() { answers_.Stop(); }

 private:
  using Session = std::shared_ptr<const Sessions::Session>;
  absl::StatusOr<std::string> AnswerJoin(Context& context,
                                         const std::string& request);
  // `proven`: it is by a holder of the secret. `list`: the hash of ours.
  absl::Status CheckJoin(const Context& context, const v1::JoinRequest& join,
                         bool proven, uint64_t list) const;
  absl::optional<uint64_t> ListHash() const;
  // Reads the request into `message`, if it is by a member and for the dataset.
  template <typename Message>
  absl::StatusOr<Session> Open(const Context& context, absl::string_view method,
                               const Buffer& request, Message& message) const;
  absl::StatusOr<Session> SessionOf(const Context& context,
                                    absl::string_view method,
                                    const std::string& request) const;
  std::string NewChallenge() const;
  bool IsChallenge(absl::string_view challenge) const;
  // A line for each caller and reason, not for each try.
  void LogRefusal(const std::string& line);

  // Constant after construction.
  const RequestHandlerOptions options_;
  const Secret challenge_key_;  // of this object
  // Thread-safe themselves.
  Sessions sessions_;
  OwedAnswers answers_;

  mutable Mutex mu_;
  absl::optional<uint64_t> list_ ABSL_GUARDED_BY(mu_);
  std::set<std::string> refusals_ ABSL_GUARDED_BY(mu_);  // logged
  int64_t forgotten_at_ ABSL_GUARDED_BY(mu_) = 0;        // seconds
};

}  // namespace shufflefs::peers

#endif  // SHUFFLEFS_PEERS_TRANSPORT_REQUEST_HANDLER_H_
