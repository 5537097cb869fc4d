// SPDX-License-Identifier: Apache-2.0
#include "peers/transport/grpc_transport.h"

#include <signal.h>

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/base/thread.h"
#include "peers/transport/channel.h"
#include "peers/transport/wire.h"

namespace shufflefs::peers {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTick{100};
constexpr std::chrono::seconds kUntilSelf{10};
constexpr size_t kMostMembers = 4096;

// Threads that gRPC starts inherit the mask. The daemon's signals are for the
// thread that waits for them.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

bool SameNames(const PeerGroup& a, const PeerGroup& b) {
  return std::equal(
      a.members.begin(), a.members.end(), b.members.begin(), b.members.end(),
      [](const auto& x, const auto& y) { return x.name == y.name; });
}

bool SameLooks(const PeerGroup& a, const PeerGroup& b) {
  return std::equal(a.members.begin(), a.members.end(), b.members.begin(),
                    b.members.end(), [](const auto& x, const auto& y) {
                      return x.name == y.name && x.self == y.self &&
                             x.joined == y.joined && x.why == y.why;
                    });
}

bool IsFar(const std::string& name) {
  const absl::StatusOr<HostPort> at = ParseHostPort(name);
  return at.ok() && !IsLoopback(at->host);
}

void OrderNames(std::vector<std::string>& names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

// 0 if the members come from elsewhere.
uint64_t ListHash(const MemberSource& source) {
  const Members* const listed = source.listed();
  if (listed == nullptr) return 0;
  std::vector<std::string> names = listed->names;
  OrderNames(names);
  return HashOf(names);
}

}  // namespace

absl::StatusOr<std::unique_ptr<GrpcTransport>> GrpcTransport::Make(
    PeerTransportParts parts, const LinkTimes& times) {
  const BlockedSignals blocked;
  KeepCallbackThreads();
  std::unique_ptr<GrpcTransport> transport(new GrpcTransport());
  RETURN_IF_ERROR(transport->Begin(std::move(parts), times));
  return transport;
}

absl::Status GrpcTransport::Begin(PeerTransportParts parts,
                                  const LinkTimes& times) {
  ASSIGN_OR_RETURN(const HostPort listen, ListenAddress(parts.config));
  ASSIGN_OR_RETURN(Security security, MakeSecurity(parts.config));
  group_.Set(std::make_shared<PeerGroup>());
  links_.Set(std::make_shared<Links>());
  const std::string instance = RandomBytes(kIdBytes);
  ASSIGN_OR_RETURN(
      server_, PeerServer::Start(
                   listen, security,
                   {.identity = parts.identity,
                    .instance = instance,
                    .secret = security.secret,
                    .tls = security.tls,
                    .service = parts.service,
                    .log = parts.log,
                    .seen_group = [this](uint64_t hash) { SeenGroup(hash); },
                    .patience = times.patience}));
  HostPort own = server_->address();
  if (own.host == "0.0.0.0" || own.host == "::") {
    // Others need a name for this daemon that they reach.
    if (const absl::StatusOr<HostPort> first = FirstPrivateAddress();
        first.ok()) {
      own.host = first->host;
    }
  }
  ASSIGN_OR_RETURN(
      source_, MakeMemberSource({.members = parts.config.members,
                                 .own = own,
                                 .instance = absl::BytesToHexString(instance),
                                 .log = parts.log}));
  const uint64_t list = ListHash(*source_);
  server_->SetListHash(list);
  context_ = std::make_shared<LinkContext>(
      LinkContext{.identity = std::move(parts.identity),
                  .instance = instance,
                  .name = own.Text(),
                  .list = list,
                  .security = std::move(security),
                  .service = parts.service,
                  .times = times,
                  .log = parts.log,
                  .claims = std::make_shared<InstanceClaims>(),
                  .changed = [this] { Wake(); },
                  .post = [this](Task task) { Post(std::move(task)); }});
  Start();
  return absl::OkStatus();
}

void GrpcTransport::Start() {
  {
    MutexLock lock(mu_);
    running_ = true;
  }
  source_->Start([this](Members members) {
    MutexLock lock(mu_);
    members_ = std::move(members);
    wake_ = true;
    woken_.SignalAll();
  });
  refresh_.store(source_.get());
  // Whoever asks for the group right away sees the members of a list.
  absl::optional<Members> members;
  {
    MutexLock lock(mu_);
    members.swap(members_);
  }
  if (members) Apply(*members);
  Publish();
  thread_ = StartThread("sfs-peers",
                        [this](std::stop_token stop) { Run(std::move(stop)); });
}

GrpcTransport::~GrpcTransport() { Stop(); }

std::shared_ptr<const PeerGroup> GrpcTransport::group() const {
  return group_.Get();
}

void GrpcTransport::ReadExtent(const std::shared_ptr<const PeerGroup>& group,
                               size_t index, const PeerExtent& extent,
                               milliseconds within, std::vector<iovec> into,
                               Done done) {
  if (absl::Status wrong = CheckExtent(extent); !wrong.ok()) {
    return Post([done = std::move(done), wrong] { done(wrong); });
  }
  v1::ExtentRequest message;
  message.set_dataset(context_->identity.dataset);
  message.set_group(group_hash_.load());
  ToMessage(extent, message);
  const auto take =
      [into = std::move(into), length = extent.length](
          const grpc::ByteBuffer& answer) -> absl::StatusOr<uint64_t> {
    if (absl::Status copied = FromAnswer(answer, length, into); !copied.ok()) {
      return copied;
    }
    return length;
  };
  Ask(group->members[index].name, {.method = kExtentMethod,
                                   .body = message.SerializeAsString(),
                                   .within = within,
                                   .take = take,
                                   .done = std::move(done)});
}

void GrpcTransport::Tell(const std::shared_ptr<const PeerGroup>& group,
                         size_t index, const EpochMessage& epoch,
                         milliseconds within, Done done) {
  v1::TellRequest message;
  message.set_dataset(context_->identity.dataset);
  message.set_group(group_hash_.load());
  ToMessage(epoch, message);
  const auto take = [](const grpc::ByteBuffer&) -> absl::StatusOr<uint64_t> {
    return 0;
  };
  Ask(group->members[index].name, {.method = kTellMethod,
                                   .body = message.SerializeAsString(),
                                   .within = within,
                                   .take = take,
                                   .done = std::move(done)});
}

void GrpcTransport::BindNames(const std::shared_ptr<const PeerGroup>& group,
                              size_t index, const NameQuestion& question,
                              milliseconds within, PeerService::Samples done) {
  if (absl::Status wrong = CheckQuestion(question); !wrong.ok()) {
    return Post([done = std::move(done), wrong] { done(wrong); });
  }
  v1::NamesRequest message;
  message.set_dataset(context_->identity.dataset);
  message.set_group(group_hash_.load());
  ToMessage(question, message);
  auto bound = std::make_shared<NameAnswer>();
  const auto take =
      [bound, count = question.names.size(), room = question.room](
          const grpc::ByteBuffer& answer) -> absl::StatusOr<uint64_t> {
    ASSIGN_OR_RETURN(*bound, FromAnswer(answer, count, room));
    return bound->length;
  };
  const auto give = [bound, done = std::move(done)](absl::Status status) {
    if (!status.ok()) return done(std::move(status));
    done(std::move(*bound));
  };
  Ask(group->members[index].name, {.method = kNamesMethod,
                                   .body = message.SerializeAsString(),
                                   .within = within,
                                   .take = take,
                                   .done = give});
}

void GrpcTransport::Ask(const std::string& name, PeerLink::Request request) {
  absl::Status refused;
  const std::shared_ptr<const Links> links = links_.Get();
  const auto link = links->find(name);
  if (link == links->end()) {
    refused = absl::FailedPreconditionError(
        absl::StrCat(name, ": no longer a member"));
  } else {
    if (link->second->Ask(request)) return;
    refused = absl::UnavailableError(absl::StrCat(name, ": not joined"));
  }
  Post([done = std::move(request.done), refused] { done(refused); });
}

std::vector<std::pair<std::string, PeerTransport::Traffic>>
GrpcTransport::traffic() const {
  std::vector<std::pair<std::string, Traffic>> all;
  const std::shared_ptr<const Links> links = links_.Get();
  for (const PeerGroup::Member& member : group_.Get()->members) {
    Traffic traffic;
    if (const auto link = links->find(member.name); link != links->end()) {
      traffic = link->second->traffic();
      traffic.sent = server_->SentTo(link->second->look().instance);
    }
    all.emplace_back(member.name, traffic);
  }
  return all;
}

void GrpcTransport::Stop() {
  if (source_ != nullptr) source_->Stop();
  if (thread_.joinable()) {
    thread_.request_stop();
    Wake();
    thread_.join();
  }
  if (links_.Get() != nullptr) {
    for (const auto& [name, link] : *links_.Get()) link->Stop();
  }
  if (server_ != nullptr) server_->Stop();
  std::vector<Task> tasks;
  {
    MutexLock lock(mu_);
    running_ = false;
    tasks.swap(tasks_);
  }
  for (const Task& task : tasks) task();
}

void GrpcTransport::Run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    std::vector<Task> tasks;
    absl::optional<Members> members;
    {
      MutexLock lock(mu_);
      if (!wake_) woken_.WaitFor(mu_, kTick);
      wake_ = false;
      tasks.swap(tasks_);
      members.swap(members_);
    }
    for (const Task& task : tasks) task();
    if (members) Apply(*members);
    const auto now = PeerLink::Clock::now();
    for (const auto& [name, link] : *links_.Get()) link->Tick(now);
    Publish();
  }
}

void GrpcTransport::Apply(const Members& members) {
  std::vector<std::string> names = members.names;
  OrderNames(names);
  if (names.size() > kMostMembers) {
    context_->log(LogLevel::kError,
                  absl::StrCat("peers: ", names.size(), " members; only ",
                               kMostMembers, " are used"));
    names.resize(kMostMembers);
  }
  const std::shared_ptr<const Links> old = links_.Get();
  auto links = std::make_shared<Links>();
  for (const std::string& name : names) {
    const auto known = old->find(name);
    std::shared_ptr<PeerLink>& link = (*links)[name];
    if (known != old->end()) {
      link = known->second;
      continue;
    }
    link = std::make_shared<PeerLink>(context_, name, name == members.self);
    if (name != members.self && !context_->security.reaches_far &&
        IsFar(name)) {
      link->Refuse("refused: without a secret or TLS anybody could answer");
    }
  }
  links_.Set(links);
  server_->SetMembers(names.size());
  for (const auto& [name, link] : *old) {
    if (!links->contains(name)) link->Stop();
  }
  since_ = PeerLink::Clock::now();
  WarnOfLoopback(names);
}

void GrpcTransport::WarnOfLoopback(const std::vector<std::string>& names) {
  const auto far = std::find_if(names.begin(), names.end(), IsFar);
  if (warned_of_loopback_ || far == names.end() || IsFar(context_->name)) {
    return;
  }
  warned_of_loopback_ = true;
  context_->log(
      LogLevel::kWarning,
      absl::StrCat("peers: this node answers at ", context_->name, " only, so ",
                   *far,
                   " cannot join it: set peers.secret or peers.tls on "
                   "all nodes, or peers.listen"));
}

void GrpcTransport::Publish() {
  const std::shared_ptr<const PeerGroup> before = group_.Get();
  auto group = std::make_shared<PeerGroup>();
  std::string self;
  for (const auto& [name, link] : *links_.Get()) {
    PeerLink::Look look = link->look();
    if (look.known_self) self = name;
    group->members.push_back({.name = name,
                              .self = look.self,
                              .joined = look.joined,
                              .why = std::move(look.why)});
  }
  std::sort(group->members.begin(), group->members.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  for (PeerGroup::Member& member : group->members) {
    if (!member.self || member.name == self) continue;
    if (self.empty()) {
      self = member.name;
    } else {
      member.self = false;
      member.joined = false;
      member.why = absl::StrCat("the same daemon as ", self);
    }
  }
  if (!SameLooks(*before, *group)) {
    group->revision = before->revision + (SameNames(*before, *group) ? 0 : 1);
    group_hash_.store(HashOf(*group));
    group_.Set(group);
  }
  WarnOfSelf(*group);
}

void GrpcTransport::WarnOfSelf(const PeerGroup& group) {
  if (warned_ || group.members.empty() ||
      PeerLink::Clock::now() - since_ < kUntilSelf) {
    return;
  }
  warned_ = true;
  if (std::none_of(group.members.begin(), group.members.end(),
                   [](const auto& member) { return member.self; })) {
    context_->log(LogLevel::kWarning,
                  absl::StrCat("peers: no member is this daemon, which answers "
                               "at ",
                               context_->name,
                               "; others cannot ask it: check peers and "
                               "peers.listen"));
  }
}

void GrpcTransport::SeenGroup(uint64_t hash) {
  MemberSource* const source = refresh_.load();
  if (source != nullptr && hash != group_hash_.load()) source->Refresh();
}

void GrpcTransport::Wake() {
  MutexLock lock(mu_);
  wake_ = true;
  woken_.SignalAll();
}

void GrpcTransport::Post(Task task) {
  {
    MutexLock lock(mu_);
    if (running_) {
      tasks_.push_back(std::move(task));
      wake_ = true;
      woken_.SignalAll();
      return;
    }
  }
  task();
}

}  // namespace shufflefs::peers
