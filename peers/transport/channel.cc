// SPDX-License-Identifier: Apache-2.0
#include "peers/transport/channel.h"

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/support/channel_arguments.h>

#include <climits>
#include <future>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "peers/access/greeting.h"
#include "peers/transport/wire.h"

namespace shufflefs::peers {

namespace {

// Of gRPC, which declares them in no header that it installs.
constexpr char kConnectServer[] = "grpc.http_connect_server";
constexpr char kConnectHeaders[] = "grpc.http_connect_headers";

// gRPC tells what a gate answered in the text of its error only.
bool IsAnswerOfGate(const grpc::Status& status, absl::string_view code) {
  return IsSilence(status) &&
         absl::StrContains(
             status.error_message(),
             absl::StrCat("HTTP proxy returned response code ", code));
}

}  // namespace

std::shared_ptr<grpc::GenericStub> StubTo(const std::string& name,
                                          const Security& security,
                                          const std::string& greeting) {
  grpc::ChannelArguments arguments;
  // Each channel has a connection of its own.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetString(kConnectServer, kGreetingTarget);
  arguments.SetString(kConnectHeaders, greeting);
  // A connection of a session is opened once.
  arguments.SetInt(GRPC_ARG_CLIENT_IDLE_TIMEOUT_MS, INT_MAX);
  arguments.SetMaxReceiveMessageSize(static_cast<int>(kMostAnswer));
  arguments.SetInt(GRPC_ARG_MAX_METADATA_SIZE, static_cast<int>(kMostMetadata));
  arguments.SetInt(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, 1);
  // A gate that many strangers crowd may close a connection that is new.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  // The link tries again by itself, and knows the address.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  if (security.tls) arguments.SetSslTargetNameOverride(kCertificateName);
  return std::make_shared<grpc::GenericStub>(
      grpc::CreateCustomChannel("dns:///" + name, security.channel, arguments));
}

std::vector<std::shared_ptr<grpc::GenericStub>> StubsTo(
    const std::string& name, const Security& security,
    const std::string& session, const Secret& key) {
  std::vector<std::shared_ptr<grpc::GenericStub>> stubs;
  for (int i = 0; i < kConnections; ++i) {
    stubs.push_back(StubTo(name, security,
                           SessionGreeting(ConnectionToken(session, key, i))));
  }
  return stubs;
}

void KeepCallbackThreads() {
  // Never destroyed, as the module is never unloaded.
  static const auto* const kept = [] {
    Security security;
    security.channel = grpc::InsecureChannelCredentials();
    auto* const stub = new auto(StubTo("127.0.0.1:1", security, ""));
    // The first call with a callback makes the threads.
    grpc::ClientContext context;
    context.TryCancel();
    const grpc::ByteBuffer request = ToBuffer("");
    grpc::ByteBuffer answer;
    std::promise<void> ended;
    (*stub)->UnaryCall(&context, kGreetMethod, grpc::StubOptions(), &request,
                       &answer,
                       [&](const grpc::Status&) { ended.set_value(); });
    ended.get_future().wait();
    return stub;
  }();
  static_cast<void>(kept);
}

bool IsSilence(const grpc::Status& status) {
  const grpc::StatusCode code = status.error_code();
  return code == grpc::StatusCode::DEADLINE_EXCEEDED ||
         code == grpc::StatusCode::UNAVAILABLE ||
         code == grpc::StatusCode::CANCELLED;
}

bool IsWrongSecret(const grpc::Status& status) {
  return IsAnswerOfGate(status, "401");
}

bool IsUnknownSession(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAUTHENTICATED ||
         IsAnswerOfGate(status, "403");
}

std::string Describe(const grpc::Status& status) {
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    return "no answer in time";
  }
  return absl::StrCat("no answer: ", Shown(status.error_message()));
}

}  // namespace shufflefs::peers
