// SPDX-License-Identifier: Apache-2.0
#include "peers/transport/request_handler.h"

#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "peers/transport/answer_proof.h"
#include "peers/transport/security.h"
#include "peers/transport/wire.h"

namespace shufflefs::peers {
namespace {

constexpr size_t kMostName = 300;      // bytes
constexpr size_t kMostRefusals = 256;  // that are remembered, and logged once
constexpr std::chrono::seconds kForgetRefusals{3600};
constexpr size_t kTimeBytes = 8;  // of a challenge
constexpr std::chrono::seconds kChallengeLife{30};

int64_t SecondsNow() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Of "ipv4:10.0.0.1:4711": without the port, which differs each time.
std::string HostOf(const grpc::CallbackServerContext& context) {
  const std::string peer = context.peer();
  return Shown(peer.substr(0, peer.rfind(':')));
}

grpc::ServerUnaryReactor* Finished(grpc::CallbackServerContext* context,
                                   const absl::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpc(status));
  return reactor;
}

}  // namespace

RequestHandler::RequestHandler(RequestHandlerOptions options)
    : options_(std::move(options)), challenge_key_(RandomBytes(32)) {}

grpc::ServerUnaryReactor* RequestHandler::Greet(Context* context,
                                                const Buffer* /*request*/,
                                                Buffer* response) {
  v1::GreetAnswer answer;
  answer.set_instance(options_.instance);
  answer.set_challenge(NewChallenge());
  *response = ToBuffer(answer.SerializeAsString());
  return Finished(context, absl::OkStatus());
}

grpc::ServerUnaryReactor* RequestHandler::Join(Context* context,
                                               const Buffer* request,
                                               Buffer* response) {
  const absl::StatusOr<std::string> bytes = FromBuffer(*request);
  if (!bytes.ok()) return Finished(context, bytes.status());
  const absl::StatusOr<std::string> answer = AnswerJoin(*context, *bytes);
  if (answer.ok()) *response = ToBuffer(*answer);
  return Finished(context, answer.status());
}

absl::StatusOr<std::string> RequestHandler::AnswerJoin(
    Context& context, const std::string& request) {
  v1::JoinRequest join;
  if (!join.ParseFromString(request) || join.nonce().size() != kIdBytes ||
      join.instance().size() != kIdBytes || join.name().size() > kMostName) {
    return absl::InvalidArgumentError("not a request to join");
  }
  const absl::optional<uint64_t> list = ListHash();
  if (!list) return absl::UnavailableError("the daemon starts");
  const bool proven = SameBytes(MetadataOf(context, kMacKey),
                                options_.secret.Mac("join", {request}));
  if (absl::Status refused = CheckJoin(context, join, proven, *list);
      !refused.ok()) {
    LogRefusal(absl::StrCat("peers: refused ", Shown(join.name()), " (",
                            HostOf(context),
                            "): ", Shown(std::string(refused.message()))));
    return refused;
  }
  v1::JoinAnswer answer;
  // Whoever passes on what this daemon says to itself gets no session.
  if (join.instance() != options_.instance) {
    answer.set_session(sessions_.Add(
        join.instance(),
        options_.secret.Derive("session", {join.nonce(), join.challenge()})));
  }
  v1::Identity identity = ToMessage(options_.identity);
  identity.set_list(*list);
  answer.set_identity(identity.SerializeAsString());
  answer.set_proof(options_.secret.Mac(
      "welcome", {options_.instance, join.nonce(), join.challenge(),
                  answer.session(), answer.identity()}));
  return answer.SerializeAsString();
}

absl::Status RequestHandler::CheckJoin(const Context& context,
                                       const v1::JoinRequest& join, bool proven,
                                       uint64_t list) const {
  if (join.to().empty()) {
    return absl::FailedPreconditionError("another version of shufflefs");
  }
  if (options_.tls && !HasCertificateName(*context.auth_context())) {
    return absl::UnauthenticatedError(absl::StrCat(
        "the certificate is not for the DNS name ", kCertificateName));
  }
  if (!IsChallenge(join.challenge())) {
    return absl::UnauthenticatedError("the challenge is too old");
  }
  if (join.to() != options_.instance) {
    return absl::UnauthenticatedError(
        "the request to join was made for another daemon");
  }
  if (!proven) {
    return absl::UnauthenticatedError(
        "peers.secret is not the same on both nodes");
  }
  ASSIGN_OR_RETURN(const PeerIdentity identity, FromMessage(join.identity()));
  RETURN_IF_ERROR(options_.service->Welcome(identity));
  return CheckLists(list, join.identity().list());
}

void RequestHandler::SetListHash(uint64_t list) {
  MutexLock lock(mu_);
  list_ = list;
}

absl::optional<uint64_t> RequestHandler::ListHash() const {
  MutexLock lock(mu_);
  return list_;
}

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

// The time, random bytes, and a proof that this object made them. So nothing
// has to be remembered for callers who never join.
std::string RequestHandler::NewChallenge() const {
  std::string text;
  const auto now = static_cast<uint64_t>(SecondsNow());
  for (size_t i = 0; i < kTimeBytes; ++i) {
    text.push_back(static_cast<char>(now >> (8 * i)));
  }
  text += RandomBytes(kIdBytes);
  return text + challenge_key_.Mac("challenge", {text});
}

bool RequestHandler::IsChallenge(absl::string_view challenge) const {
  constexpr size_t kText = kTimeBytes + kIdBytes;
  if (challenge.size() < kText) return false;
  const absl::string_view text = challenge.substr(0, kText);
  if (!SameBytes(challenge.substr(kText),
                 challenge_key_.Mac("challenge", {text}))) {
    return false;
  }
  uint64_t made = 0;
  for (size_t i = kTimeBytes; i-- > 0;) {
    made = made << 8 | static_cast<unsigned char>(text[i]);
  }
  return SecondsNow() - static_cast<int64_t>(made) <= kChallengeLife.count();
}

void RequestHandler::LogRefusal(const std::string& line) {
  {
    MutexLock lock(mu_);
    // A stranger may make up as many as the network takes.
    if (refusals_.size() >= kMostRefusals) {
      if (SecondsNow() - forgotten_at_ < kForgetRefusals.count()) return;
      forgotten_at_ = SecondsNow();
      refusals_.clear();
    }
    if (!refusals_.insert(line).second) return;
  }
  options_.log(LogLevel::kWarning, line);
}

}  // namespace shufflefs::peers
