// SPDX-License-Identifier: Apache-2.0
// The greeting that begins each connection between daemons, before any HTTP/2
// and TLS. It is an HTTP CONNECT request, which gRPC's client sends by itself.
#ifndef SHUFFLEFS_PEERS_ACCESS_GREETING_H_
#define SHUFFLEFS_PEERS_ACCESS_GREETING_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "peers/access/secret.h"

namespace shufflefs::peers {

inline constexpr size_t kMostGreeting = 1024;  // bytes
// What the request asks to be connected to. All daemons say the same.
inline constexpr char kGreetingTarget[] = "shufflefs";

// Connections of a session. One stream of TCP does not fill a fast network.
inline constexpr int kConnections = 2;

// All texts are as they came, and may be anything.
struct Greeting {
  std::string from;  // name of the caller, for people
  // With a secret, of one who wants to join. Whoever records them can send them
  // again, and so reach Greet and Join, but nothing else.
  std::string nonce;
  std::string proof;
  // Of one who has joined: see ConnectionToken.
  std::string token;
};

// Headers of a request, a line each.
std::string HeadersOf(const Greeting& greeting);

// Those of one who wants to join.
std::string JoinGreeting(const Secret& secret, const std::string& from);
bool IsProven(const Greeting& greeting, const Secret& secret);

// Those for a connection of a session.
std::string SessionGreeting(const std::string& token);
// Names connection `number` of a session, and proves that the caller knows the
// session and its key. It opens one connection, once: a recorded one opens
// none.
std::string ConnectionToken(const std::string& session, const Secret& key,
                            int number);

// The greeting at the begin of `bytes`, which came over a new connection.
struct FoundGreeting {
  enum class State {
    kCutOff,  // it may become any of the others
    kWhole,
    kEarlier,  // HTTP/2 or TLS without a greeting, as of an earlier version
    kNone,
  };
  State state = State::kNone;
  Greeting greeting;
  size_t size = 0;  // bytes
};
FoundGreeting FindGreeting(absl::string_view bytes);

}  // namespace shufflefs::peers

#endif  // SHUFFLEFS_PEERS_ACCESS_GREETING_H_
