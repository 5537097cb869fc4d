// SPDX-License-Identifier: Apache-2.0
#include "peers/transport/request_handler.h"

#include <utility>

#include "core/base/status.h"
#include "peers/transport/answer_proof.h"
#include "peers/transport/wire.h"

namespace shufflefs::peers {

RequestHandler::RequestHandler(const ServerOptions& options,
                               const Sessions& sessions)
    : options_(options), sessions_(sessions) {}

grpc::ServerUnaryReactor* RequestHandler::Ping(Context* context,
                                               const Buffer* request,
                                               Buffer* response) {
  const absl::StatusOr<std::string> bytes = FromBuffer(*request);
  if (!bytes.ok()) return Finished(context, bytes.status());
  const absl::StatusOr<Session> session =
      SessionOf(*context, kPingMethod, *bytes);
  if (!session.ok()) return Finished(context, session.status());
  v1::PingAnswer answer;
  answer.set_source_bytes(options_.service->SourceBytes());
  *response = ToBuffer(answer.SerializeAsString());
  AddAnswerProof((*session)->key, {.body = response}, *context);
  return Finished(context, absl::OkStatus());
}

grpc::ServerUnaryReactor* RequestHandler::ReadExtent(Context* context,
                                                     const Buffer* request,
                                                     Buffer* response) {
  v1::ExtentRequest message;
  const absl::StatusOr<Session> session =
      Open(*context, kExtentMethod, *request, message);
  if (!session.ok()) return Finished(context, session.status());
  const absl::StatusOr<PeerExtent> extent = FromMessage(message);
  if (!extent.ok()) return Finished(context, extent.status());
  const std::shared_ptr<OwedAnswer> answer = answers_.Begin(
      {.context = context, .response = response, .session = *session});
  if (answer == nullptr) {
    return Finished(context, absl::UnavailableError("the daemon stops"));
  }
  options_.service->ReadExtent(
      *extent,
      [answer, length = extent->length](const absl::StatusOr<PeerBytes>& read) {
        if (!read.ok()) return answer->Complete(read.status(), 0);
        answer->Complete(ToAnswer(*read, length), length);
      });
  return answer.get();
}

grpc::ServerUnaryReactor* RequestHandler::Tell(Context* context,
                                               const Buffer* request,
                                               Buffer* response) {
  v1::TellRequest message;
  const absl::StatusOr<Session> session =
      Open(*context, kTellMethod, *request, message);
  if (!session.ok()) return Finished(context, session.status());
  absl::StatusOr<EpochMessage> epoch = FromMessage(message);
  if (!epoch.ok()) return Finished(context, epoch.status());
  options_.service->Hear(*std::move(epoch));
  *response = ToBuffer("");
  AddAnswerProof((*session)->key, {.body = response}, *context);
  return Finished(context, absl::OkStatus());
}

grpc::ServerUnaryReactor* RequestHandler::BindNames(Context* context,
                                                    const Buffer* request,
                                                    Buffer* response) {
  v1::NamesRequest message;
  const absl::StatusOr<Session> session =
      Open(*context, kNamesMethod, *request, message);
  if (!session.ok()) return Finished(context, session.status());
  const absl::StatusOr<NameQuestion> question = FromMessage(message);
  if (!question.ok()) return Finished(context, question.status());
  const std::shared_ptr<OwedAnswer> answer = answers_.Begin(
      {.context = context, .response = response, .session = *session});
  if (answer == nullptr) {
    return Finished(context, absl::UnavailableError("the daemon stops"));
  }
  options_.service->BindNames(
      *question, [answer](const absl::StatusOr<NameAnswer>& bound) {
        if (!bound.ok()) return answer->Complete(bound.status(), 0);
        answer->Complete(ToAnswer(*bound), bound->length);
      });
  return answer.get();
}

template <typename Message>
absl::StatusOr<RequestHandler::Session> RequestHandler::Open(
    const Context& context, absl::string_view method, const Buffer& request,
    Message& message) const {
  ASSIGN_OR_RETURN(const std::string bytes, FromBuffer(request));
  ASSIGN_OR_RETURN(Session session, SessionOf(context, method, bytes));
  if (!message.ParseFromString(bytes)) {
    return absl::InvalidArgumentError("not a request");
  }
  if (message.dataset() != options_.identity.dataset) {
    return absl::FailedPreconditionError("another dataset");
  }
  options_.seen_group(message.group());
  return session;
}

absl::StatusOr<RequestHandler::Session> RequestHandler::SessionOf(
    const Context& context, absl::string_view method,
    const std::string& request) const {
  Session session = sessions_.Find(MetadataOf(context, kSessionKey));
  if (session == nullptr) {
    return absl::UnauthenticatedError("not joined");
  }
  if (!SameBytes(MetadataOf(context, kMacKey),
                 session->key.Mac(method, {request}))) {
    return absl::UnauthenticatedError("wrong proof of the secret");
  }
  return session;
}

}  // namespace shufflefs::peers
