// SPDX-License-Identifier: Apache-2.0
#include "peers/access/security.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace shufflefs::peers {
namespace {

// A file that begins with a block of PEM of the right kind.
absl::StatusOr<std::string> ReadPem(const std::string& folder,
                                    const std::string& name,
                                    absl::string_view kind) {
  const std::string file = folder + "/" + name;
  ASSIGN_OR_RETURN(std::string text, ReadPrivateFile("peers.tls", file));
  if (!absl::StrContains(text, "-----BEGIN ") ||
      !absl::StrContains(text, kind)) {
    return absl::InvalidArgumentError(
        absl::StrCat("peers.tls: ", file, ": no ", kind, " in PEM"));
  }
  return text;
}

absl::Status AddTls(const std::string& folder, Security& security) {
  ASSIGN_OR_RETURN(const std::string ca,
                   ReadPem(folder, "ca.pem", "CERTIFICATE"));
  ASSIGN_OR_RETURN(const std::string certificate,
                   ReadPem(folder, "cert.pem", "CERTIFICATE"));
  ASSIGN_OR_RETURN(const std::string key,
                   ReadPem(folder, "key.pem", "PRIVATE KEY"));
  grpc::SslServerCredentialsOptions server(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  server.pem_root_certs = ca;
  server.pem_key_cert_pairs.push_back({key, certificate});
  security.server = grpc::SslServerCredentials(server);
  security.channel = grpc::SslCredentials({.pem_root_certs = ca,
                                           .pem_private_key = key,
                                           .pem_cert_chain = certificate});
  security.tls = true;
  return absl::OkStatus();
}

bool IsSafe(const PeersConfig& config) {
  return !config.tls.empty() || !config.secret.empty() || config.insecure;
}

}  // namespace

absl::StatusOr<Security> MakeSecurity(const PeersConfig& config) {
  Security security;
  security.reaches_far = IsSafe(config);
  security.server = grpc::InsecureServerCredentials();
  security.channel = grpc::InsecureChannelCredentials();
  if (!config.tls.empty()) RETURN_IF_ERROR(AddTls(config.tls, security));
  if (!config.secret.empty()) {
    ASSIGN_OR_RETURN(security.secret, Secret::Read(config.secret));
  }
  return security;
}

bool HasCertificateName(const grpc::AuthContext& context) {
  const std::vector<grpc::string_ref> names =
      context.FindPropertyValues("x509_subject_alternative_name");
  return std::any_of(names.begin(), names.end(), [](grpc::string_ref name) {
    return name == kCertificateName;
  });
}

absl::StatusOr<HostPort> ListenAddress(const PeersConfig& config) {
  const bool safe = IsSafe(config);
  if (config.listen.empty()) {
    if (!safe) return HostPort{"127.0.0.1", kDefaultPort};
    return FirstPrivateAddress();
  }
  absl::StatusOr<HostPort> address = ParseHostPort(config.listen);
  if (!address.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("peers.listen: ", address.status().message()));
  }
  if (!safe && !IsLoopback(address->host)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "peers.listen = ", config.listen,
        ": others reach this address; set peers.tls or peers.secret, or "
        "peers.insecure = yes if everyone on the network may read the "
        "dataset"));
  }
  return address;
}

}  // namespace shufflefs::peers
