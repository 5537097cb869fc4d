// SPDX-License-Identifier: Apache-2.0
// The answers that this daemon owes to requests which its service answers.
#ifndef SHUFFLEFS_PEERS_TRANSPORT_OWED_ANSWERS_H_
#define SHUFFLEFS_PEERS_TRANSPORT_OWED_ANSWERS_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "core/base/mutex.h"
#include "peers/transport/sessions.h"

namespace shufflefs::peers {

class OwedAnswers;

// One answer. Whoever completes it first wins: the service, the caller that
// cancels or whose deadline passes, or the daemon that stops. So no request
// waits for a source that hangs. The service may complete it at any later time.
class OwedAnswer : public grpc::ServerUnaryReactor {
 public:
  struct Call {
    grpc::CallbackServerContext* context = nullptr;
    grpc::ByteBuffer* response = nullptr;
    std::shared_ptr<const Sessions::Session> session;  // of the caller
  };
  OwedAnswer(OwedAnswers* answers, Call call);

  // Answers by the service: a message with so many bytes of files, or an error
  // of its own. Proves that it is by this daemon. Thread-safe; never blocks.
  void Complete(const absl::StatusOr<grpc::ByteBuffer>& message,
                uint64_t bytes);
  // Answers that the request did not reach the service.
  void Refuse(const absl::Status& status);

 private:
  void OnCancel() override;
  void OnDone() override;

  OwedAnswers* const answers_;  // until OnDone
  const Call call_;             // valid until OnDone
  std::atomic<bool> claimed_{false};
};

// Owns the answers until gRPC is done with them. Thread-safe; never blocks.
class OwedAnswers {
 public:
  // Null after Stop.
  std::shared_ptr<OwedAnswer> Begin(OwedAnswer::Call call);
  // Completes all with Unavailable.
  void Stop();

 private:
  friend class OwedAnswer;
  void Remove(OwedAnswer* answer);

  Mutex mu_;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  absl::flat_hash_map<OwedAnswer*, std::shared_ptr<OwedAnswer>> answers_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs::peers

#endif  // SHUFFLEFS_PEERS_TRANSPORT_OWED_ANSWERS_H_
