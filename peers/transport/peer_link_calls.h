// SPDX-License-Identifier: Apache-2.0
// The calls of a PeerLink that are under way.
#ifndef SHUFFLEFS_PEERS_TRANSPORT_PEER_LINK_CALLS_H_
#define SHUFFLEFS_PEERS_TRANSPORT_PEER_LINK_CALLS_H_

#include <grpcpp/client_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/string_view.h"
#include "peers/access/secret.h"
#include "peers/proto/peers.pb.h"
#include "peers/transport/answer_proof.h"
#include "peers/transport/peer_link.h"
#include "peers/transport/wire.h"

namespace shufflefs::peers {

// Constant once started, but for what gRPC writes until the call has ended.
struct PeerLink::Call {
  explicit Call(std::chrono::milliseconds within) {
    context.set_deadline(std::chrono::system_clock::now() + within);
  }
  // The request is by the member whose session has this key.
  void Prove(const Secret& of_session, const char* method,
             const std::string& body) {
    key = of_session;
    proof = key.Mac(method, {body});
    if (!key.none()) context.AddMetadata(kMacKey, proof);
  }
  // Whether the answer is by the other member of the session.
  bool IsProven(const grpc::Status& status) const {
    return IsAnswerProof(key, proof,
                         {.code = status.error_code(),
                          .by_service = IsByService(),
                          .body = status.ok() ? &answer : nullptr},
                         Trailing(kMacKey));
  }
  bool IsByService() const {
    return context.GetServerTrailingMetadata().count(kServiceKey) != 0;
  }
  absl::string_view Trailing(const char* name) const {
    const auto& all = context.GetServerTrailingMetadata();
    const auto found = all.find(name);
    if (found == all.end()) return "";
    return {found->second.data(), found->second.size()};
  }
  grpc::ClientContext context;
  grpc::ByteBuffer request;
  grpc::ByteBuffer answer;
  Secret key;         // of the session
  std::string proof;  // of the request
};

struct PeerLink::AskCall : Call {
  explicit AskCall(Request asked)
      : Call(asked.within),
        asked(std::move(asked)),
        starter(std::this_thread::get_id()) {}
  Request asked;
  size_t connection = 0;  // index of the session's stubs
  // Until the call has started, gRPC may end it on the thread that starts it.
  std::atomic<std::thread::id> starter;
};

struct PeerLink::ControlCall : Call {
  ControlCall(std::string method, std::string body,
              std::chrono::milliseconds within)
      : Call(within), method(std::move(method)), body(std::move(body)) {
    request = ToBuffer(this->body);
  }
  const std::string method;
  const std::string body;
  v1::GreetAnswer greeting;  // that a Join is due to
  std::string nonce;         // of a Join
  size_t connection = 0;     // of a Ping, as in AskCall
  grpc::Status status;
  std::string text;  // of the answer
};

}  // namespace shufflefs::peers

#endif  // SHUFFLEFS_PEERS_TRANSPORT_PEER_LINK_CALLS_H_
