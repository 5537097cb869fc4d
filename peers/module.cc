// SPDX-License-Identifier: Apache-2.0
// What the shared module exports. The daemon loads it if the key `peers` is
// set, and never unloads it: threads of gRPC go on.
#include <grpc/support/log.h>

#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "core/peers/peer_transport.h"
#include "peers/transport/grpc_transport.h"

namespace shufflefs::peers {
namespace {

// gRPC writes to stderr, which a daemon does not have. What people need to know
// is in the daemon's log. GRPC_VERBOSITY brings gRPC's lines back.
void SilenceGrpc() {
  if (std::getenv("GRPC_VERBOSITY") != nullptr) return;
  gpr_set_log_function([](gpr_log_func_args*) {});
}

// Debian's Abseil looks for cycles of gRPC's locks at each lock, with a stack
// trace and under a lock of the process.
void DoNotLookForDeadlocks() {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

}  // namespace
}  // namespace shufflefs::peers

// The name that kPeerTransportMaker has, and the type PeerTransportFunction.
// Its callers are C++, too: C linkage only keeps the name plain.
#ifdef __clang__
#pragma clang diagnostic ignored "-Wreturn-type-c-linkage"
#endif
extern "C" __attribute__((visibility("default")))
absl::StatusOr<std::unique_ptr<shufflefs::PeerTransport>>
ShufflefsMakePeerTransport(shufflefs::PeerTransportParts parts) {
  shufflefs::peers::SilenceGrpc();
  shufflefs::peers::DoNotLookForDeadlocks();
  return shufflefs::peers::GrpcTransport::Make(std::move(parts));
}
