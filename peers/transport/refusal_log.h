// SPDX-License-Identifier: Apache-2.0
// Lines about callers who were refused.
#ifndef SHUFFLEFS_PEERS_TRANSPORT_REFUSAL_LOG_H_
#define SHUFFLEFS_PEERS_TRANSPORT_REFUSAL_LOG_H_

#include <chrono>
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

// Writes a line for each caller and reason, not for each try. Thread-safe.
class RefusalLog {
 public:
  explicit RefusalLog(LogLine log) : log_(std::move(log)) {}

  // The texts may be anything that a stranger sent.
  void Write(const std::string& name, const std::string& host,
             const std::string& why) {
    const std::string line = absl::StrCat("peers: refused ", Shown(name), " (",
                                          Shown(host), "): ", Shown(why));
    {
      MutexLock lock(mu_);
      // A stranger may make up as many as the network takes.
      if (lines_.size() >= kMost) {
        if (Clock::now() - forgotten_at_ < kForget) return;
        forgotten_at_ = Clock::now();
        lines_.clear();
      }
      if (!lines_.insert(line).second) return;
    }
    log_(LogLevel::kWarning, line);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kMost = 256;  // lines that are remembered
  static constexpr std::chrono::seconds kForget{3600};

  const LogLine log_;
  Mutex mu_;
  std::set<std::string> lines_ ABSL_GUARDED_BY(mu_);
  Clock::time_point forgotten_at_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs::peers

#endif  // SHUFFLEFS_PEERS_TRANSPORT_REFUSAL_LOG_H_
