// SPDX-License-Identifier: Apache-2.0
#include "peers/access/connection_gate.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/thread.h"
#include "peers/access/listen_sockets.h"

namespace shufflefs::peers {
namespace {

using std::chrono::milliseconds;

constexpr size_t kMostGreeters = 64;
constexpr size_t kGreetersOfMember = 4;
constexpr size_t kMostMembersOfGreeters = 240;
// Between looks for those who are late, if there are any connections.
constexpr milliseconds kLook{50};
// Who has not greeted for so long, goes first if there are too many.
constexpr milliseconds kLeastGreeting{100};
// Who has a place at the desk keeps it so long, whoever waits: Greet and Join
// mostly take less. The gate looks as often as kWaitingLook while some wait.
constexpr milliseconds kLeastStay{20};
constexpr milliseconds kWaitingLook{5};
constexpr int kMostEvents = 64;
constexpr int kMostAccepted = 64;  // before others have their turn
// The process has no more descriptors.
constexpr milliseconds kPause{10};
constexpr uint64_t kWakeKey = 0;
constexpr uint64_t kFirstNumber = 1000;  // those below are listeners

// Of a caller, for people and to compare. Who has an address of IPv6 mostly
// has all of its network, of 64 bits.
struct Caller {
  std::string host;
  std::string network;
};

Caller CallerOf(const sockaddr_storage& from) {
  char text[INET6_ADDRSTRLEN] = "";
  if (from.ss_family == AF_INET) {
    const in_addr& at = reinterpret_cast<const sockaddr_in*>(&from)->sin_addr;
    inet_ntop(AF_INET, &at, text, sizeof text);
    return {absl::StrCat("ipv4:", text), text};
  }
  const in6_addr& at = reinterpret_cast<const sockaddr_in6*>(&from)->sin6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&at)) {
    inet_ntop(AF_INET, at.s6_addr + 12, text, sizeof text);
    return {absl::StrCat("ipv4:", text), text};
  }
  inet_ntop(AF_INET6, &at, text, sizeof text);
  return {absl::StrCat("ipv6:", text),
          std::string(reinterpret_cast<const char*>(at.s6_addr), 8)};
}

const char* AnswerOf(GateWay way) {
  switch (way) {
    case GateWay::kDesk:
    case GateWay::kMembers:
      return "HTTP/1.1 200 OK\r\n\r\n";
    case GateWay::kWrongSecret:
      return "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n";
    case GateWay::kNoSession:
      return "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n";
    case GateWay::kClosed:
      return "";
  }
  return "";
}

// The first bytes of a connection always fit into the kernel's memory.
void Tell(int fd, GateWay way) {
  const char* const answer = AnswerOf(way);
  const ssize_t sent =
      send(fd, answer, std::strlen(answer), MSG_NOSIGNAL | MSG_DONTWAIT);
  static_cast<void>(sent);  // who does not hear it, goes away
}

}  // namespace

struct ConnectionGate::Connection {
  int fd = -1;  // -1 if closed
  State state = kGreeting;
  Caller caller;
  Clock::time_point until;
  Clock::time_point stays;  // until then, if anyhow possible
  bool greeted = false;     // and waits for an answer
  std::unique_ptr<DeskRelay> relay;
};

absl::StatusOr<std::unique_ptr<ConnectionGate>> ConnectionGate::Listen(
    HostPort address) {
  std::unique_ptr<ConnectionGate> gate(new ConnectionGate());
  gate->listeners_ = OpenListenSockets(address);
  if (gate->listeners_.empty()) {
    return absl::UnavailableError(absl::StrCat(
        "peers.listen: cannot listen on ", address.Text(),
        "; is the port in use, or the address of another machine?"));
  }
  gate->address_ = std::move(address);
  gate->random_.seed(std::random_device()());
  gate->last_number_ = kFirstNumber;
  gate->poll_ = epoll_create1(EPOLL_CLOEXEC);
  gate->wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  bool watched = gate->wake_ >= 0;
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.u64 = kWakeKey;
  watched = watched &&
            epoll_ctl(gate->poll_, EPOLL_CTL_ADD, gate->wake_, &event) == 0;
  for (size_t i = 0; i < gate->listeners_.size(); ++i) {
    event.data.u64 = 1 + i;
    watched = watched && epoll_ctl(gate->poll_, EPOLL_CTL_ADD,
                                   gate->listeners_[i], &event) == 0;
  }
  if (!watched) {
    return absl::UnavailableError("peers.listen: no descriptors are left");
  }
  return gate;
}

ConnectionGate::~ConnectionGate() {
  Stop();
  for (const int fd : {poll_, wake_}) {
    if (fd >= 0) close(fd);
  }
}

void ConnectionGate::Start(ConnectionGateOptions options) {
  options_ = std::move(options);
  thread_ = StartThread("sfs-peers-gate",
                        [this](std::stop_token stop) { Run(std::move(stop)); });
}

void ConnectionGate::Stop() {
  if (thread_.joinable()) {
    thread_.request_stop();
    eventfd_write(wake_, 1);
    thread_.join();
  }
  while (!connections_.empty()) Remove(connections_.begin()->first);
  for (const int fd : listeners_) close(fd);
  listeners_.clear();
}

void ConnectionGate::Run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    epoll_event events[kMostEvents];
    const int count = epoll_wait(poll_, events, kMostEvents, Wait());
    for (int i = 0; i < count; ++i) {
      const uint64_t key = events[i].data.u64;
      if (key == kWakeKey) continue;
      if (key < kFirstNumber) {
        Accept(listeners_[key - 1]);
      } else {
        Handle(key, (events[i].events & (EPOLLRDHUP | EPOLLHUP)) != 0);
      }
    }
    Admit();
    CloseLate();
  }
}

int ConnectionGate::Wait() const {
  if (connections_.empty()) return -1;
  return static_cast<int>((waiting_.empty() ? kLook : kWaitingLook).count());
}

void ConnectionGate::Accept(int listener) {
  for (int i = 0; i < kMostAccepted; ++i) {
    sockaddr_storage from = {};
    socklen_t size = sizeof from;
    const int fd = accept4(listener, reinterpret_cast<sockaddr*>(&from), &size,
                           SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
      if (counts_[kGreeting] + counts_[kWaiting] > 0) {
        Remove(GreetingVictim());
        continue;
      }
      std::this_thread::sleep_for(kPause);
    }
    if (fd < 0) return;
    const int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    const uint64_t number = ++last_number_;
    Connection& one = connections_[number];
    one.fd = fd;
    one.caller = CallerOf(from);
    one.stays = Clock::now() + kLeastGreeting;
    one.until = Clock::now() + options_.patience;
    ++counts_[kGreeting];
    if (!Watch(fd, number)) {
      Remove(number);
      continue;
    }
    // Who has greeted already is not one of too many.
    ReadGreeting(number, one, false);
    CloseTooMany();
  }
}

bool ConnectionGate::Watch(int fd, uint64_t key) {
  epoll_event event = {};
  // Told once of each change: who sends a greeting byte by byte is looked at
  // once for each.
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.u64 = key;
  return epoll_ctl(poll_, EPOLL_CTL_ADD, fd, &event) == 0;
}

void ConnectionGate::Handle(uint64_t number, bool ended) {
  const auto found = connections_.find(number);
  if (found == connections_.end()) return;  // it has gone meanwhile
  Connection& one = found->second;
  switch (one.state) {
    case kGreeting:
      return ReadGreeting(number, one, ended);
    case kAtDesk:
      if (!one.relay->Pass()) Leave(one);
      return;
    case kLeaving:
      if (!one.relay->IsOpen()) Remove(number);
      return;
    case kWaiting:
    case kStates:
      return;
  }
}

void ConnectionGate::ReadGreeting(uint64_t number, Connection& one,
                                  bool ended) {
  char bytes[kMostGreeting];
  const ssize_t came = recv(one.fd, bytes, sizeof bytes, MSG_PEEK);
  if (came < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (came <= 0) return Remove(number);
  const FoundGreeting found =
      FindGreeting(absl::string_view(bytes, static_cast<size_t>(came)));
  switch (found.state) {
    case FoundGreeting::State::kCutOff:
      if (ended) Remove(number);
      return;
    case FoundGreeting::State::kNone:
      return Remove(number);
    case FoundGreeting::State::kWhole:
      // What follows is for gRPC.
      if (recv(one.fd, bytes, found.size, 0) !=
          static_cast<ssize_t>(found.size)) {
        return Remove(number);
      }
      one.greeted = true;
      break;
    case FoundGreeting::State::kEarlier:
      break;
  }
  Judge(number, one, found);
}

void ConnectionGate::Judge(uint64_t number, Connection& one,
                           const FoundGreeting& found) {
  const GateWay way = options_.judge(found, one.caller.host);
  if (way == GateWay::kDesk) {
    Move(one, kWaiting);
    waiting_.push_back(number);
    return;
  }
  if (one.greeted) Tell(one.fd, way);
  if (way == GateWay::kMembers) {
    epoll_ctl(poll_, EPOLL_CTL_DEL, one.fd, nullptr);
    options_.to_members(std::exchange(one.fd, -1));
  }
  Remove(number);
}

void ConnectionGate::Admit() {
  while (!waiting_.empty()) {
    const auto found = connections_.find(waiting_.front());
    if (found == connections_.end()) {
      waiting_.pop_front();
      continue;
    }
    if (counts_[kAtDesk] + counts_[kLeaving] >= options_.places) break;
    waiting_.pop_front();
    Enter(found->first, found->second);
  }
  while (counts_[kLeaving] < counts_[kWaiting]) {
    const auto victim = connections_.find(DeskVictim());
    if (victim == connections_.end()) return;
    Leave(victim->second);
  }
}

void ConnectionGate::Enter(uint64_t number, Connection& one) {
  one.relay = std::make_unique<DeskRelay>();
  const int inner = one.relay->Open(one.fd, one.caller.host);
  if (inner < 0 || !Watch(one.relay->inner(), number)) {
    if (inner >= 0) close(inner);
    return Remove(number);
  }
  Move(one, kAtDesk);
  one.stays = Clock::now() + kLeastStay;
  one.until = Clock::now() + options_.patience;
  if (one.greeted) Tell(one.fd, GateWay::kDesk);
  options_.to_desk(inner);
  // No change may come any more that would tell of what has come.
  if (!one.relay->Pass()) Leave(one);
}

void ConnectionGate::Leave(Connection& one) {
  Move(one, kLeaving);
  one.until = Clock::now() + options_.patience;
  close(std::exchange(one.fd, -1));
  one.relay->End();
}

void ConnectionGate::Remove(uint64_t number) {
  const auto found = connections_.find(number);
  if (found->second.fd >= 0) close(found->second.fd);
  --counts_[found->second.state];
  connections_.erase(found);
}

void ConnectionGate::CloseTooMany() {
  const size_t most =
      kMostGreeters +
      kGreetersOfMember * std::min(members_.load(), kMostMembersOfGreeters);
  while (counts_[kGreeting] + counts_[kWaiting] > most) {
    Remove(GreetingVictim());
  }
}

void ConnectionGate::CloseLate() {
  const auto now = Clock::now();
  if (now - looked_ < kLook) return;
  looked_ = now;
  std::vector<uint64_t> late;
  for (auto& [number, one] : connections_) {
    if (one.until > now) continue;
    if (one.state == kAtDesk) {
      Leave(one);
    } else {
      late.push_back(number);
    }
  }
  for (const uint64_t number : late) Remove(number);
}

uint64_t ConnectionGate::GreetingVictim() {
  Networks networks;
  const auto now = Clock::now();
  for (const auto& [number, one] : connections_) {
    if (one.state > kWaiting) continue;
    Network& network = networks[one.caller.network];
    ++network.count;
    const bool slow = one.state == kGreeting && one.stays <= now;
    if (slow && !network.slow) network.may_go.clear();
    network.slow = network.slow || slow;
    if (slow == network.slow) network.may_go.push_back(number);
  }
  return Choose(networks);
}

uint64_t ConnectionGate::DeskVictim() {
  Networks networks;
  const auto now = Clock::now();
  for (const auto& [number, one] : connections_) {
    if (one.state < kAtDesk) continue;
    Network& network = networks[one.caller.network];
    ++network.count;
    if (one.state == kAtDesk && one.stays <= now) {
      network.may_go.push_back(number);
    }
  }
  // With the place that it would have.
  if (const auto first = connections_.find(waiting_.front());
      first != connections_.end()) {
    ++networks[first->second.caller.network].count;
  }
  return Choose(networks);
}

uint64_t ConnectionGate::Choose(const Networks& networks) {
  // Of those with most connections, one that has any to close, and of these
  // one that does not greet. The order of a hash map is none.
  const auto rank = [](const Network& network) {
    return std::make_tuple(network.count, !network.may_go.empty(),
                           network.slow);
  };
  const Network* most = nullptr;
  uint32_t ties = 0;
  for (const auto& [name, network] : networks) {
    if (most == nullptr || rank(network) > rank(*most)) {
      most = &network;
      ties = 1;
    } else if (rank(network) == rank(*most) && random_() % ++ties == 0) {
      most = &network;
    }
  }
  if (most == nullptr || most->may_go.empty()) return 0;
  return most->may_go[random_() % most->may_go.size()];
}

void ConnectionGate::Move(Connection& one, State state) {
  --counts_[one.state];
  one.state = state;
  ++counts_[state];
}

}  // namespace shufflefs::peers
