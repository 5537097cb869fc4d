// SPDX-License-Identifier: Apache-2.0
// ConnectionGate accepts the connections to this daemon. Strangers open as many
// as they like, so it decides who gets to gRPC.
#ifndef SHUFFLEFS_PEERS_ACCESS_CONNECTION_GATE_H_
#define SHUFFLEFS_PEERS_ACCESS_CONNECTION_GATE_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "peers/access/desk_relay.h"
#include "peers/access/greeting.h"
#include "peers/members/addresses.h"

namespace shufflefs::peers {

// Where a new connection goes.
enum class GateWay {
  kDesk,         // to the part of gRPC that knows Greet and Join
  kMembers,      // to the part that knows all else
  kWrongSecret,  // it is told so
  kNoSession,    // it is told so
  kClosed,
};

// All functions are called by the gate's thread, and do not block.
struct ConnectionGateOptions {
  // `found` is whole, or of an earlier version. `host` is for people.
  std::function<GateWay(const FoundGreeting& found, const std::string& host)>
      judge;
  // They take the descriptor, which does not block.
  std::function<void(int fd)> to_desk;
  std::function<void(int fd)> to_members;
  // For a greeting, and then for Greet and Join.
  std::chrono::milliseconds patience{10000};
  size_t places = 64;  // at the desk
};

// A connection begins with a greeting. The gate looks at it in the kernel's
// memory, and reads no byte behind it. It then waits for one of few places at
// the desk (see DeskRelay), or goes to gRPC as it is: gRPC keeps what it likes
// of a member's connection.
//
// Who is too many is closed at random, among those whose address has most
// connections. So strangers do not keep out members of other addresses, and
// those of their own are let in after some tries. Whoever has joined is left
// alone.
//
// Made, stopped and destroyed by one thread.
class ConnectionGate {
 public:
  // Unavailable: the port is in use, or the address is none of this machine.
  static absl::StatusOr<std::unique_ptr<ConnectionGate>> Listen(
      HostPort address);
  ~ConnectionGate();

  // With the port that the system chose.
  const HostPort& address() const { return address_; }
  // Connections that came before wait.
  void Start(ConnectionGateOptions options);
  // How many may greet at once grows with the members. Thread-safe.
  void SetMembers(size_t count) { members_.store(count); }
  // Calls none of the functions afterwards. gRPC sees that callers at the desk
  // have gone.
  void Stop();

 private:
  using Clock = std::chrono::steady_clock;
  enum State { kGreeting, kWaiting, kAtDesk, kLeaving, kStates };
  struct Connection;
  using Connections = std::map<uint64_t, Connection>;  // by number
  struct Network {
    size_t count = 0;              // connections from there
    std::vector<uint64_t> may_go;  // of these
    bool slow = false;             // these do not greet
  };
  using Networks = absl::flat_hash_map<absl::string_view, Network>;

  ConnectionGate() = default;
  void Run(std::stop_token stop);
  void Accept(int listener);
  // `ended`: nothing more comes from the caller.
  void Handle(uint64_t number, bool ended);
  void ReadGreeting(uint64_t number, Connection& one, bool ended);
  void Judge(uint64_t number, Connection& one, const FoundGreeting& found);
  // Gives places at the desk to those who wait, and takes them from others.
  void Admit();
  void Enter(uint64_t number, Connection& one);
  // Takes the place of one at the desk, as soon as gRPC has let go of it.
  void Leave(Connection& one);
  void Remove(uint64_t number);
  void CloseTooMany();
  void CloseLate();
  // Milliseconds until something is due; -1 for ever.
  int Wait() const;
  // Who has to go; 0 if nobody can.
  uint64_t GreetingVictim();
  uint64_t DeskVictim();
  uint64_t Choose(const Networks& networks);
  void Move(Connection& one, State state);
  bool Watch(int fd, uint64_t key);

  // Constant after Start.
  HostPort address_;
  ConnectionGateOptions options_;
  std::vector<int> listeners_;
  int poll_ = -1;
  int wake_ = -1;

  std::atomic<size_t> members_{0};

  // Of the thread.
  Connections connections_;
  uint64_t last_number_ = 0;
  std::array<size_t, kStates> counts_ = {};
  std::deque<uint64_t> waiting_;  // for the desk; some may have gone
  Clock::time_point looked_;      // for those who are late
  std::minstd_rand random_;

  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace shufflefs::peers

#endif  // SHUFFLEFS_PEERS_ACCESS_CONNECTION_GATE_H_
