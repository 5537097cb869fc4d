// SPDX-License-Identifier: Apache-2.0
#include "peers/transport/channel.h"

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/channel_arguments.h>

#include <future>

#include "peers/transport/wire.h"

namespace shufflefs::peers {

std::shared_ptr<grpc::Channel> ChannelTo(const std::string& name, int number,
                                         const Security& security) {
  grpc::ChannelArguments arguments;
  // Each channel has a connection of its own.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt("shufflefs.connection", number);
  arguments.SetMaxReceiveMessageSize(static_cast<int>(kMostAnswer));
  arguments.SetInt(GRPC_ARG_MAX_METADATA_SIZE, static_cast<int>(kMostMetadata));
  arguments.SetInt(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, 1);
  // The link tries again by itself, and knows the address.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  if (security.tls) arguments.SetSslTargetNameOverride(kCertificateName);
  return grpc::CreateCustomChannel("dns:///" + name, security.channel,
                                   arguments);
}

void KeepCallbackThreads() {
  // Never destroyed, as the module is never unloaded.
  static grpc::GenericStub* const kept = [] {
    Security security;
    security.channel = grpc::InsecureChannelCredentials();
    auto* const stub =
        new grpc::GenericStub(ChannelTo("127.0.0.1:1", 0, security));
    // The first call with a callback makes the threads.
    grpc::ClientContext context;
    context.TryCancel();
    const grpc::ByteBuffer request = ToBuffer("");
    grpc::ByteBuffer answer;
    std::promise<void> ended;
    stub->UnaryCall(&context, kGreetMethod, grpc::StubOptions(), &request,
                    &answer, [&](const grpc::Status&) { ended.set_value(); });
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

std::string Describe(const grpc::Status& status) {
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    return "no answer in time";
  }
  return absl::StrCat("no answer: ", Shown(status.error_message()));
}

}  // namespace shufflefs::peers
