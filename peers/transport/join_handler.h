// SPDX-License-Identifier: Apache-2.0
// JoinHandler answers Greet and Join of peers/proto/peers.proto.
#ifndef SHUFFLEFS_PEERS_TRANSPORT_JOIN_HANDLER_H_
#define SHUFFLEFS_PEERS_TRANSPORT_JOIN_HANDLER_H_

#include <cstdint>
#include <deque>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/base/mutex.h"
#include "peers/access/secret.h"
#include "peers/proto/peers.grpc.pb.h"
#include "peers/transport/refusal_log.h"
#include "peers/transport/server_options.h"
#include "peers/transport/sessions.h"

namespace shufflefs::peers {

// The desk: all that one who has not joined can ask. Called by threads of gRPC,
// several at a time. Nothing blocks.
class JoinHandler
    : public v1::Peers::WithRawCallbackMethod_Greet<
          v1::Peers::WithRawCallbackMethod_Join<v1::Peers::Service>> {
 public:
  // All of them outlive this object.
  JoinHandler(const ServerOptions& options, Sessions& sessions,
              RefusalLog& refusals);

  using Context = grpc::CallbackServerContext;
  using Buffer = grpc::ByteBuffer;
  grpc::ServerUnaryReactor* Greet(Context* context, const Buffer* request,
                                  Buffer* response) override;
  grpc::ServerUnaryReactor* Join(Context* context, const Buffer* request,
                                 Buffer* response) override;

  // Nobody joins before. The hash of the list of members, or 0 if there is
  // none.
  void SetListHash(uint64_t list);

 private:
  absl::StatusOr<std::string> AnswerJoin(Context& context,
                                         const std::string& request);
  // `proven`: it is by a holder of the secret. `list`: the hash of ours.
  absl::Status CheckJoin(const Context& context, const v1::JoinRequest& join,
                         bool proven, uint64_t list);
  absl::optional<uint64_t> ListHash() const;
  std::string NewChallenge() const;
  bool IsChallenge(absl::string_view challenge) const;
  // Returns whether nobody joined by it before. REQUIRES: IsChallenge, and the
  // caller has the secret, so only members make this object remember it.
  bool UseChallenge(const std::string& challenge);

  // Constant after construction.
  const ServerOptions& options_;
  const Secret challenge_key_;  // of this object
  // Thread-safe themselves.
  Sessions& sessions_;
  RefusalLog& refusals_;

  mutable Mutex mu_;
  absl::optional<uint64_t> list_ ABSL_GUARDED_BY(mu_);
  // Whoever records a request to join can send it again, and would end the
  // session of the member. So challenges are remembered as long as they live.
  struct Used {
    int64_t at = 0;  // seconds
    std::string challenge;
  };
  std::deque<Used> used_ ABSL_GUARDED_BY(mu_);  // as they came
  absl::flat_hash_set<std::string> is_used_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs::peers

#endif  // SHUFFLEFS_PEERS_TRANSPORT_JOIN_HANDLER_H_
