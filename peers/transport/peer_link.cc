// SPDX-License-Identifier: Apache-2.0
#include "peers/transport/peer_link.h"

#include <grpcpp/client_context.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "peers/access/greeting.h"
#include "peers/proto/peers.pb.h"
#include "peers/transport/answer_proof.h"
#include "peers/transport/channel.h"
#include "peers/transport/wire.h"

namespace shufflefs::peers {
namespace {

using std::chrono::milliseconds;

// A daemon with much to do may be late for itself, too.
constexpr uint32_t kMostSilencesOfSelf = 3;
constexpr char kNoProof[] = "an answer without a proof of peers.secret";

}  // namespace

// Constant once started, but for what gRPC writes until the call has ended.
struct PeerLink::Call {
  explicit Call(milliseconds within) {
    context.set_deadline(std::chrono::system_clock::now() + within);
  }
  // The request is by the member whose session has this key.
  void Prove(const Secret& of_session, const char* method,
             const std::string& body) {
    key = of_session;
    proof = key.Mac(method, {body});
    if (!key.none()) context.AddMetadata(kMacKey, proof);
  }
  // Whether the answer is by the other member of the session.
  bool IsProven(const grpc::Status& status) const {
    return IsAnswerProof(key, proof,
                         {.code = status.error_code(),
                          .by_service = IsByService(),
                          .body = status.ok() ? &answer : nullptr},
                         Trailing(kMacKey));
  }
  bool IsByService() const {
    return context.GetServerTrailingMetadata().count(kServiceKey) != 0;
  }
  absl::string_view Trailing(const char* name) const {
    const auto& all = context.GetServerTrailingMetadata();
    const auto found = all.find(name);
    if (found == all.end()) return "";
    return {found->second.data(), found->second.size()};
  }
  grpc::ClientContext context;
  grpc::ByteBuffer request;
  grpc::ByteBuffer answer;
  Secret key;         // of the session
  std::string proof;  // of the request
};

struct PeerLink::AskCall : Call {
  explicit AskCall(Request asked)
      : Call(asked.within),
        asked(std::move(asked)),
        starter(std::this_thread::get_id()) {}
  Request asked;
  // Until the call has started, gRPC may end it on the thread that starts it.
  std::atomic<std::thread::id> starter;
};

struct PeerLink::ControlCall : Call {
  ControlCall(std::string method, std::string body, milliseconds within)
      : Call(within), method(std::move(method)), body(std::move(body)) {
    request = ToBuffer(this->body);
  }
  const std::string method;
  const std::string body;
  v1::GreetAnswer greeting;  // that a Join is due to
  std::string nonce;         // of a Join
  grpc::Status status;
  std::string text;  // of the answer
};

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
    stub = stubs_[++turn_ % stubs_.size()];
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
    Doubt(kNoProof);
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
    Doubt("no answer in time");
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
  MutexLock lock(mu_);
  while (!calls_.empty()) ended_.Wait(mu_);
  desk_.reset();
  stubs_.clear();
}

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
  } else {
    Join(answer);
  }
}

void PeerLink::Join(const v1::GreetAnswer& greeting) {
  {
    MutexLock lock(mu_);
    instance_ = greeting.instance();
  }
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

void PeerLink::Ping() {
  auto call = std::make_shared<ControlCall>(
      kPingMethod, v1::PingRequest().SerializeAsString(),
      context_->times.answer);
  {
    MutexLock lock(mu_);
    call->context.AddMetadata(kSessionKey, session_);
    call->Prove(key_, kPingMethod, call->body);
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
    due_ = Clock::now() + context_->times.ping;
    if (state_ == State::kJoined) return;
    state_ = State::kJoined;
  }
  context_->changed();
}

void PeerLink::StartControl(std::shared_ptr<ControlCall> call, Ended ended) {
  if (!Add(call)) return;
  std::shared_ptr<grpc::GenericStub> stub;
  {
    MutexLock lock(mu_);
    stub = call->method == kPingMethod ? stubs_.front() : desk_;
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

void PeerLink::ConnectToDesk() {
  if (desk_ != nullptr || state_ == State::kStopped) return;
  const Security& security = context_->security;
  desk_ =
      StubTo(name_, security, JoinGreeting(security.secret, context_->name));
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

void PeerLink::Doubt(const std::string& why) {
  {
    MutexLock lock(mu_);
    if (state_ != State::kJoined) return;
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
