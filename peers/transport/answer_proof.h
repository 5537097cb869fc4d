// SPDX-License-Identifier: Apache-2.0
// The proof that an answer is by the member that was asked.
#ifndef SHUFFLEFS_PEERS_TRANSPORT_ANSWER_PROOF_H_
#define SHUFFLEFS_PEERS_TRANSPORT_ANSWER_PROOF_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <string>

#include "absl/strings/string_view.h"
#include "peers/access/secret.h"

namespace shufflefs::peers {

// What a proof is about, beside the request. The text of an error is for
// people, and is not proven.
struct AnsweredWith {
  grpc::StatusCode code = grpc::StatusCode::OK;
  bool by_service = false;                 // an error of the service
  const grpc::ByteBuffer* body = nullptr;  // null: no bytes
};

// A proof by the key of a session, for an answer to the request whose own proof
// is `request`. So nobody without the secret can make an answer, or give that
// to one request for that to another. "" if there is no key. Reads the bytes
// once, and faster than a network brings them.
std::string AnswerProof(const Secret& key, absl::string_view request,
                        const AnsweredWith& answer);
bool IsAnswerProof(const Secret& key, absl::string_view request,
                   const AnsweredWith& answer, absl::string_view proof);

// Adds the proof to the trailing metadata of the call.
void AddAnswerProof(const Secret& key, const AnsweredWith& answer,
                    grpc::CallbackServerContext& context);

}  // namespace shufflefs::peers

#endif  // SHUFFLEFS_PEERS_TRANSPORT_ANSWER_PROOF_H_
