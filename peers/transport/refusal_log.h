// SPDX-License-Identifier: Apache-2.0
// Lines about callers who were refused.
#ifndef SHUFFLEFS_PEERS_TRANSPORT_REFUSAL_LOG_H_
#define SHUFFLEFS_PEERS_TRANSPORT_REFUSAL_LOG_H_

#include <chrono>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/mutex.h"
#include "peers/members/member_source.h"
#include "peers/transport/wire.h"

namespace shufflefs::peers {

// Who was refused. The texts may be anything that a stranger sent.
struct RefusedCaller {
  std::string name;
  std::string host;     // its address
  bool proven = false;  // it has the secret
};

// Writes a line for each caller and reason, not for each try. A stranger may
// make up as many names as the network takes. So there are few lines of one
// address, and those of callers who have the secret have room of their own.
// Thread-safe.
class RefusalLog {
 public:
  explicit RefusalLog(LogLine log) : log_(std::move(log)) {}

  void Write(const RefusedCaller& caller, const std::string& why) {
    const std::string line =
        absl::StrCat("peers: refused ", Shown(caller.name), " (",
                     Shown(caller.host), "): ", Shown(why));
    {
      MutexLock lock(mu_);
      const bool is_new = caller.proven ? Note(proven_, "", line)
                                        : Note(strangers_, caller.host, line);
      if (!is_new) return;
    }
    log_(LogLevel::kWarning, line);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kMost = 256;       // lines that are remembered
  static constexpr size_t kMostOfHost = 16;  // of one address
  static constexpr std::chrono::seconds kForget{3600};

  struct Room {
    std::set<std::string> lines;
    std::map<std::string, size_t> of_host;
    Clock::time_point forgotten_at = Clock::now();
  };
  // Returns whether the line is to be written. `host` is "" if all lines are
  // of callers whom the daemon knows.
  static bool Note(Room& room, const std::string& host,
                   const std::string& line) {
    if (room.lines.contains(line)) return false;
    const auto is_full = [&] {
      return room.lines.size() >= kMost ||
             (!host.empty() && room.of_host[host] >= kMostOfHost);
    };
    if (is_full()) {
      if (Clock::now() - room.forgotten_at < kForget) return false;
      room = Room{.lines = {}, .of_host = {}, .forgotten_at = Clock::now()};
    }
    ++room.of_host[host];
    room.lines.insert(line);
    return true;
  }

  const LogLine log_;
  Mutex mu_;
  Room proven_ ABSL_GUARDED_BY(mu_);
  Room strangers_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs::peers

#endif  // SHUFFLEFS_PEERS_TRANSPORT_REFUSAL_LOG_H_
