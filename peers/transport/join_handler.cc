// SPDX-License-Identifier: Apache-2.0
#include "peers/transport/join_handler.h"

#include <chrono>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "peers/access/security.h"
#include "peers/transport/wire.h"

namespace shufflefs::peers {
namespace {

constexpr size_t kMostName = 300;  // bytes
constexpr size_t kTimeBytes = 8;   // of a challenge
constexpr std::chrono::seconds kChallengeLife{30};

int64_t SecondsNow() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// DeskRelay has named the caller:
// "unix-abstract:shufflefs-peers/1f/ipv4:10.0.0.1".
std::string HostOf(const grpc::CallbackServerContext& context) {
  const std::string peer = context.peer();
  return peer.substr(peer.rfind('/') + 1);
}

}  // namespace

JoinHandler::JoinHandler(const ServerOptions& options, Sessions& sessions,
                         RefusalLog& refusals)
    : options_(options),
      challenge_key_(RandomBytes(32)),
      sessions_(sessions),
      refusals_(refusals) {}

grpc::ServerUnaryReactor* JoinHandler::Greet(Context* context,
                                             const Buffer* /*request*/,
                                             Buffer* response) {
  v1::GreetAnswer answer;
  answer.set_instance(options_.instance);
  answer.set_challenge(NewChallenge());
  *response = ToBuffer(answer.SerializeAsString());
  return Finished(context, absl::OkStatus());
}

grpc::ServerUnaryReactor* JoinHandler::Join(Context* context,
                                            const Buffer* request,
                                            Buffer* response) {
  const absl::StatusOr<std::string> bytes = FromBuffer(*request);
  if (!bytes.ok()) return Finished(context, bytes.status());
  const absl::StatusOr<std::string> answer = AnswerJoin(*context, *bytes);
  if (answer.ok()) *response = ToBuffer(*answer);
  return Finished(context, answer.status());
}

absl::StatusOr<std::string> JoinHandler::AnswerJoin(
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
    refusals_.Write({.name = join.name(),
                     .host = HostOf(context),
                     .proven = proven && !options_.secret.none()},
                    std::string(refused.message()));
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

absl::Status JoinHandler::CheckJoin(const Context& context,
                                    const v1::JoinRequest& join, bool proven,
                                    uint64_t list) {
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
    return absl::UnauthenticatedError(kWrongSecretText);
  }
  if (!options_.secret.none() && !UseChallenge(join.challenge())) {
    return absl::UnauthenticatedError("the challenge was used before");
  }
  ASSIGN_OR_RETURN(const PeerIdentity identity, FromMessage(join.identity()));
  RETURN_IF_ERROR(options_.service->Welcome(identity));
  return CheckLists(list, join.identity().list());
}

void JoinHandler::SetListHash(uint64_t list) {
  MutexLock lock(mu_);
  list_ = list;
}

absl::optional<uint64_t> JoinHandler::ListHash() const {
  MutexLock lock(mu_);
  return list_;
}

// The time, random bytes, and a proof that this object made them. So nothing
// has to be remembered for callers who have no secret.
std::string JoinHandler::NewChallenge() const {
  std::string text;
  const auto now = static_cast<uint64_t>(SecondsNow());
  for (size_t i = 0; i < kTimeBytes; ++i) {
    text.push_back(static_cast<char>(now >> (8 * i)));
  }
  text += RandomBytes(kIdBytes);
  return text + challenge_key_.Mac("challenge", {text});
}

bool JoinHandler::IsChallenge(absl::string_view challenge) const {
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

bool JoinHandler::UseChallenge(const std::string& challenge) {
  const int64_t now = SecondsNow();
  MutexLock lock(mu_);
  while (!used_.empty() && now - used_.front().at > kChallengeLife.count()) {
    is_used_.erase(used_.front().challenge);
    used_.pop_front();
  }
  if (!is_used_.insert(challenge).second) return false;
  used_.push_back({now, challenge});
  return true;
}

}  // namespace shufflefs::peers
