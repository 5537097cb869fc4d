// SPDX-License-Identifier: Apache-2.0
// The answers that this daemon owes to requests for extents.
#ifndef SHUFFLEFS_PEERS_TRANSPORT_EXTENT_ANSWERS_H_
#define SHUFFLEFS_PEERS_TRANSPORT_EXTENT_ANSWERS_H_

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
#include "core/peers/peer_transport.h"

namespace shufflefs::peers {

class ExtentAnswers;

// One answer. Whoever completes it first wins: the service, the caller that
// cancels or whose deadline passes, or the daemon that stops. So no request
// waits for a source that hangs. The service may complete it at any later time.
class ExtentAnswer : public grpc::ServerUnaryReactor {
 public:
  struct Call {
    grpc::CallbackServerContext* context = nullptr;
    grpc::ByteBuffer* response = nullptr;
    uint64_t length = 0;  // of the extent
    std::shared_ptr<std::atomic<uint64_t>> sent;
  };
  ExtentAnswer(ExtentAnswers* answers, Call call);

  // Thread-safe; never blocks.
  void Complete(const absl::StatusOr<PeerBytes>& bytes);
  // Answers that the request did not reach the service.
  void Refuse(const absl::Status& status);

 private:
  void OnCancel() override;
  void OnDone() override;

  ExtentAnswers* const answers_;  // until OnDone
  const Call call_;               // valid until OnDone
  std::atomic<bool> claimed_{false};
};

// Owns the answers until gRPC is done with them. Thread-safe; never blocks.
class ExtentAnswers {
 public:
  // Null after Stop.
  std::shared_ptr<ExtentAnswer> Begin(ExtentAnswer::Call call);
  // Completes all with Unavailable.
  void Stop();

 private:
  friend class ExtentAnswer;
  void Remove(ExtentAnswer* answer);

  Mutex mu_;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  absl::flat_hash_map<ExtentAnswer*, std::shared_ptr<ExtentAnswer>> answers_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs::peers

#endif  // SHUFFLEFS_PEERS_TRANSPORT_EXTENT_ANSWERS_H_
