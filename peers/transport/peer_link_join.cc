// SPDX-License-Identifier: Apache-2.0
// How a PeerLink greets and joins its member.
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "peers/access/greeting.h"
#include "peers/proto/peers.pb.h"
#include "peers/transport/channel.h"
#include "peers/transport/peer_link.h"
#include "peers/transport/peer_link_calls.h"
#include "peers/transport/wire.h"

namespace shufflefs::peers {

void PeerLink::Greet() {
  {
    MutexLock lock(mu_);
    ConnectToDesk();
  }
  StartControl(std::make_shared<ControlCall>(
                   kGreetMethod, v1::GreetRequest().SerializeAsString(),
                   context_->times.answer),
               &PeerLink::EndGreet);
}

void PeerLink::EndGreet(const ControlCall& call) {
  v1::GreetAnswer answer;
  if (IsWrongSecret(call.status)) {
    Refused(absl::StrCat("refused: ", kWrongSecretText));
  } else if (!call.status.ok()) {
    Lost(Describe(call.status));
  } else if (!answer.ParseFromString(call.text) ||
             answer.instance().size() != kIdBytes) {
    Refused("refused: it is no shufflefs of this version");
  } else if (Claim(answer.instance())) {
    Join(answer);
  }
}

bool PeerLink::Claim(const std::string& instance) {
  if (look().instance != instance) ReleaseClaim();
  if (instance != context_->instance) {
    const auto holder = context_->claims->Claim(instance, name_);
    if (holder && holder->joined) {
      {
        MutexLock lock(mu_);
        instance_.clear();
      }
      Refused(absl::StrCat("the same daemon as ", holder->name));
      return false;
    }
    if (holder) {
      MutexLock lock(mu_);
      busy_ = false;
      due_ = Clock::now() + context_->times.first_retry;
      desk_.reset();
      return false;
    }
  }
  MutexLock lock(mu_);
  instance_ = instance;
  return true;
}

// Who answers there next may be another daemon.
void PeerLink::ReleaseClaim() {
  std::string instance;
  {
    MutexLock lock(mu_);
    instance = instance_;
  }
  context_->claims->Release(instance, name_);
}

void PeerLink::Join(const v1::GreetAnswer& greeting) {
  v1::JoinRequest request;
  request.set_to(greeting.instance());
  request.set_challenge(greeting.challenge());
  request.set_nonce(RandomBytes(kIdBytes));
  request.set_instance(context_->instance);
  request.set_name(context_->name);
  *request.mutable_identity() = ToMessage(context_->identity);
  request.mutable_identity()->set_list(context_->list);
  const std::string body = request.SerializeAsString();
  auto call =
      std::make_shared<ControlCall>(kJoinMethod, body, context_->times.answer);
  call->greeting = greeting;
  call->nonce = request.nonce();
  const Secret& secret = context_->security.secret;
  if (!secret.none()) {
    call->context.AddMetadata(kMacKey, secret.Mac("join", {body}));
  }
  StartControl(std::move(call), &PeerLink::EndJoin);
}

void PeerLink::EndJoin(const ControlCall& call) {
  std::string session;
  if (IsSilence(call.status)) {
    Lost(Describe(call.status));
  } else if (!call.status.ok()) {
    Refused(absl::StrCat("refused: ", Shown(call.status.error_message())));
  } else if (const absl::Status checked = CheckJoin(call, session);
             !checked.ok()) {
    Refused(absl::StrCat("refused: ", Shown(std::string(checked.message()))));
  } else if (session.empty()) {
    FoundSelf();
  } else {
    context_->claims->Confirm(call.greeting.instance(), name_);
    Joined(call, session);
  }
}

absl::Status PeerLink::CheckJoin(const ControlCall& call,
                                 std::string& session) const {
  v1::JoinAnswer answer;
  v1::Identity theirs;
  const bool self = call.greeting.instance() == context_->instance;
  if (!answer.ParseFromString(call.text) ||
      answer.session().size() != (self ? 0 : kIdBytes) ||
      !theirs.ParseFromString(answer.identity())) {
    return absl::InvalidArgumentError("it is no shufflefs of this version");
  }
  const std::string proof = context_->security.secret.Mac(
      "welcome",
      {call.greeting.instance(), call.nonce, call.greeting.challenge(),
       answer.session(), answer.identity()});
  if (!SameBytes(proof, answer.proof())) {
    return absl::UnauthenticatedError(kWrongSecretText);
  }
  ASSIGN_OR_RETURN(const PeerIdentity identity, FromMessage(theirs));
  session = answer.session();
  RETURN_IF_ERROR(context_->service->Welcome(identity));
  return CheckLists(context_->list, theirs.list());
}

void PeerLink::ConnectToDesk() {
  if (desk_ != nullptr || state_ == State::kStopped) return;
  const Security& security = context_->security;
  desk_ =
      StubTo(name_, security, JoinGreeting(security.secret, context_->name));
}

void PeerLink::Joined(const ControlCall& call, const std::string& session) {
  const std::string& challenge = call.greeting.challenge();
  {
    MutexLock lock(mu_);
    if (state_ == State::kStopped) return;
    state_ = State::kJoined;
    busy_ = false;
    refused_ = false;
    failures_ = 0;
    why_.clear();
    session_ = session;
    key_ = context_->security.secret.Derive("session", {call.nonce, challenge});
    desk_.reset();
    stubs_ = StubsTo(name_, context_->security, session_, key_);
    doubted_ = 0;
    due_ = Clock::now() + context_->times.ping;
  }
  context_->log(LogLevel::kInfo, absl::StrCat("peers: joined ", name_));
  context_->changed();
}

// It is greeted again: who answers there may pass on what this daemon says to
// itself, and go away.
void PeerLink::FoundSelf() {
  {
    MutexLock lock(mu_);
    if (state_ == State::kStopped) return;
    state_ = State::kSelf;
    busy_ = false;
    refused_ = false;
    failures_ = 0;
    why_.clear();
    due_ = Clock::now() + context_->times.refused;
    desk_.reset();
  }
  context_->changed();
}

}  // namespace shufflefs::peers
