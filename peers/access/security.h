// SPDX-License-Identifier: Apache-2.0
// How daemons know each other, from the keys peers.tls, peers.secret and
// peers.insecure.
#ifndef SHUFFLEFS_PEERS_ACCESS_SECURITY_H_
#define SHUFFLEFS_PEERS_ACCESS_SECURITY_H_

#include <grpcpp/security/auth_context.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "absl/status/statusor.h"
#include "core/config/config.h"
#include "peers/access/secret.h"
#include "peers/members/addresses.h"

namespace shufflefs::peers {

// With TLS each side proves by a certificate that ca.pem signed it for the DNS
// name kCertificateName. All daemons may have the same certificate. The CA may
// sign others, too: they have another name.
inline constexpr char kCertificateName[] = "shufflefs-peers";

struct Security {
  Secret secret;
  bool tls = false;
  // Without it anybody may answer at an address on the network, so none is
  // asked: TLS or a secret, or the user wants neither.
  bool reaches_far = false;
  std::shared_ptr<grpc::ServerCredentials> server;
  std::shared_ptr<grpc::ChannelCredentials> channel;
};

// Reads the files. InvalidArgument names the key and the file.
absl::StatusOr<Security> MakeSecurity(const PeersConfig& config);

// Whether the caller has a certificate of that name. With TLS, gRPC has checked
// who signed it.
bool HasCertificateName(const grpc::AuthContext& context);

// Where to listen. FailedPrecondition if others reach that address, and there
// is neither TLS nor a secret nor peers.insecure.
absl::StatusOr<HostPort> ListenAddress(const PeersConfig& config);

}  // namespace shufflefs::peers

#endif  // SHUFFLEFS_PEERS_ACCESS_SECURITY_H_
