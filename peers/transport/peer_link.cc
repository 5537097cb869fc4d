// SPDX-License-Identifier: Apache-2.0
#include "peers/transport/peer_link.h"

#include <algorithm>
#include <bit>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "peers/proto/peers.pb.h"
#include "peers/transport/channel.h"
#include "peers/transport/peer_link_calls.h"
#include "peers/transport/wire.h"

namespace shufflefs::peers {
namespace {

using std::chrono::milliseconds;

// A daemon with much to do may be late for itself, too.
constexpr uint32_t kMostSilencesOfSelf = 3;
constexpr char kNoProof[] = "an answer without a proof of peers.secret";

}  // namespace

PeerLink::PeerLink(std::shared_ptr<const LinkContext> context, std::string name,
                   bool self)
    : context_(std::move(context)),
      name_(std::move(name)),
      known_self_(self),
      state_(self ? State::kSelf : State::kAway) {}

PeerLink::~PeerLink() { Stop(); }

void PeerLink::Tick(Clock::time_point now) {
  bool ping = false;
  {
    MutexLock lock(mu_);
    if (busy_ || now < due_ || known_self_ || state_ == State::kStopped) return;
    busy_ = true;
    ping = state_ == State::kJoined || state_ == State::kDoubted;
  }
  if (ping) {
    Ping();
  } else {
    Greet();
  }
}

PeerLink::Look PeerLink::look() const {
  MutexLock lock(mu_);
  Look look;
  look.self = state_ == State::kSelf;
  look.known_self = known_self_;
  look.instance = instance_;
  look.joined = look.self || state_ == State::kJoined;
  if (look.self) look.instance = context_->instance;
  if (!look.joined) look.why = why_;
  return look;
}

bool PeerLink::Ask(Request& request) {
  auto call = std::make_shared<AskCall>(std::move(request));
  const char* const method = call->asked.method;
  call->request = ToBuffer(call->asked.body);
  std::shared_ptr<grpc::GenericStub> stub;
  {
    MutexLock lock(mu_);
    if (state_ != State::kJoined) {
      request = std::move(call->asked);
      return false;
    }
    call->context.AddMetadata(kSessionKey, session_);
    call->Prove(key_, method, call->asked.body);
    call->connection = ++turn_ % stubs_.size();
    stub = stubs_[call->connection];
    calls_.insert(call);
  }
  requests_.fetch_add(1);
  stub->UnaryCall(
      &call->context, method, grpc::StubOptions(), &call->request,
      &call->answer,
      [link = shared_from_this(), call](const grpc::Status& status) {
        if (call->starter.load() != std::this_thread::get_id()) {
          link->EndAsk(call, status);
          return;
        }
        link->context_->post(
            [link, call, status] { link->EndAsk(call, status); });
      });
  call->starter.store(std::thread::id());
  return true;
}

void PeerLink::EndAsk(const std::shared_ptr<AskCall>& call,
                      const grpc::Status& status) {
  const absl::Status result = ResultOf(*call, status);
  std::exchange(call->asked.done, nullptr)(result);
  Remove(call);
}

absl::Status PeerLink::ResultOf(AskCall& call, const grpc::Status& status) {
  const bool by_service = call.IsByService();
  if ((status.ok() || by_service) && !call.IsProven(status)) {
    failed_.fetch_add(1);
    Doubt(call.connection, kNoProof);
    return absl::UnavailableError(absl::StrCat(name_, ": ", kNoProof));
  }
  if (status.ok()) {
    const absl::StatusOr<uint64_t> bytes = call.asked.take(call.answer);
    if (bytes.ok()) {
      received_.fetch_add(*bytes);
    } else {
      failed_.fetch_add(1);
    }
    return bytes.status();
  }
  if (by_service) return FromGrpc(status);
  failed_.fetch_add(1);
  if (IsUnknownSession(status)) {
    Rejoin();
  } else if (IsSilence(status)) {
    Doubt(call.connection, "no answer in time");
  } else if (status.error_code() == grpc::StatusCode::FAILED_PRECONDITION) {
    return FromGrpc(status);
  }
  return absl::UnavailableError(absl::StrCat(name_, ": ", Describe(status)));
}

PeerTransport::Traffic PeerLink::traffic() const {
  return {.received = received_.load(),
          .requests = requests_.load(),
          .failed = failed_.load(),
          .source_bytes = source_bytes_.load()};
}

void PeerLink::Stop() {
  std::vector<std::shared_ptr<Call>> calls;
  {
    MutexLock lock(mu_);
    state_ = State::kStopped;
    why_ = "this daemon stops";
    calls.assign(calls_.begin(), calls_.end());
  }
  for (const std::shared_ptr<Call>& call : calls) call->context.TryCancel();
  calls.clear();
  {
    MutexLock lock(mu_);
    while (!calls_.empty()) ended_.Wait(mu_);
    desk_.reset();
    stubs_.clear();
  }
  ReleaseClaim();
}

void PeerLink::Ping() {
  auto call = std::make_shared<ControlCall>(
      kPingMethod, v1::PingRequest().SerializeAsString(),
      context_->times.answer);
  {
    MutexLock lock(mu_);
    if (state_ == State::kStopped) return;
    call->context.AddMetadata(kSessionKey, session_);
    call->Prove(key_, kPingMethod, call->body);
    // One of them may be silent, and the other one not.
    call->connection = doubted_ != 0
                           ? static_cast<size_t>(std::countr_zero(doubted_))
                           : ++ping_turn_ % stubs_.size();
  }
  StartControl(std::move(call), &PeerLink::EndPing);
}

void PeerLink::EndPing(const ControlCall& call) {
  if (!call.status.ok()) {
    if (!IsUnknownSession(call.status)) {
      return Lost(Describe(call.status));
    }
    {
      MutexLock lock(mu_);
      busy_ = false;
    }
    return Rejoin();
  }
  if (!call.IsProven(call.status)) {
    return Refused(absl::StrCat("refused: ", kNoProof));
  }
  v1::PingAnswer answer;
  if (answer.ParseFromString(call.text)) source_bytes_ = answer.source_bytes();
  {
    MutexLock lock(mu_);
    busy_ = false;
    if (state_ != State::kJoined && state_ != State::kDoubted) return;
    doubted_ &= ~(1u << call.connection);
    due_ = Clock::now();
    if (doubted_ == 0) {
      due_ += context_->times.ping;
      if (state_ == State::kJoined) return;
      state_ = State::kJoined;
    }
  }
  context_->changed();
}

void PeerLink::StartControl(std::shared_ptr<ControlCall> call, Ended ended) {
  if (!Add(call)) return;
  std::shared_ptr<grpc::GenericStub> stub;
  {
    MutexLock lock(mu_);
    stub = call->method == kPingMethod ? stubs_[call->connection] : desk_;
  }
  stub->UnaryCall(
      &call->context, call->method, grpc::StubOptions(), &call->request,
      &call->answer,
      [link = shared_from_this(), call, ended](grpc::Status status) {
        if (status.ok()) {
          absl::StatusOr<std::string> text = FromBuffer(call->answer);
          if (text.ok()) call->text = *std::move(text);
        }
        call->status = std::move(status);
        (*link.*ended)(*call);
        link->Remove(call);
      });
}

bool PeerLink::Add(const std::shared_ptr<Call>& call) {
  MutexLock lock(mu_);
  if (state_ == State::kStopped) return false;
  calls_.insert(call);
  return true;
}

void PeerLink::Remove(const std::shared_ptr<Call>& call) {
  MutexLock lock(mu_);
  calls_.erase(call);
  if (calls_.empty()) ended_.SignalAll();
}

PeerLink::Calls PeerLink::Leave(const std::string& why, milliseconds wait) {
  Calls calls;
  if (state_ == State::kStopped) return calls;
  calls.assign(calls_.begin(), calls_.end());
  state_ = State::kAway;
  busy_ = false;
  why_ = why;
  due_ = Clock::now() + wait;
  desk_.reset();
  stubs_.clear();
  session_.clear();
  return calls;
}

void PeerLink::Lost(const std::string& why) {
  ReleaseClaim();
  bool was_joined = false;
  Calls calls;
  {
    MutexLock lock(mu_);
    was_joined = state_ == State::kJoined || state_ == State::kDoubted;
    milliseconds wait = context_->times.first_retry * (1 << failures_);
    wait = std::min(wait, context_->times.most_retry);
    failures_ = std::min(failures_ + 1, 10u);
    if (state_ == State::kSelf && failures_ < kMostSilencesOfSelf) {
      busy_ = false;
      due_ = Clock::now() + wait;
      desk_.reset();
      return;
    }
    refused_ = false;
    calls = Leave(why, wait);
  }
  for (const std::shared_ptr<Call>& call : calls) call->context.TryCancel();
  context_->log(was_joined ? LogLevel::kWarning : LogLevel::kDebug,
                absl::StrCat("peers: ", name_, ": ", why));
  context_->changed();
}

void PeerLink::Refused(const std::string& why) {
  ReleaseClaim();
  bool said = false;
  Calls calls;
  {
    MutexLock lock(mu_);
    said = refused_ && why_ == why;
    refused_ = true;
    calls = Leave(why, context_->times.refused);
  }
  for (const std::shared_ptr<Call>& call : calls) call->context.TryCancel();
  if (!said) {
    context_->log(LogLevel::kWarning,
                  absl::StrCat("peers: ", name_, " is not used; ", why));
  }
  context_->changed();
}

void PeerLink::Doubt(size_t connection, const std::string& why) {
  {
    MutexLock lock(mu_);
    if (state_ != State::kJoined && state_ != State::kDoubted) return;
    doubted_ |= 1u << connection;
    if (state_ == State::kDoubted) return;
    state_ = State::kDoubted;
    why_ = why;
    due_ = Clock::now();
  }
  context_->changed();
}

// The member has been restarted: it does not know the session.
void PeerLink::Rejoin() {
  {
    MutexLock lock(mu_);
    if (state_ != State::kJoined && state_ != State::kDoubted) return;
    state_ = State::kAway;
    why_ = "it was restarted";
    due_ = Clock::now();
  }
  context_->changed();
}

}  // namespace shufflefs::peers
