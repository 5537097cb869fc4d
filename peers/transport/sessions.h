// SPDX-License-Identifier: Apache-2.0
// Sessions: the members that joined this daemon, and may ask it.
#ifndef SHUFFLEFS_PEERS_TRANSPORT_SESSIONS_H_
#define SHUFFLEFS_PEERS_TRANSPORT_SESSIONS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/base/mutex.h"
#include "peers/access/secret.h"

namespace shufflefs::peers {

// Thread-safe; never blocks. Holds at most kMost sessions, and one for each
// instance: whoever joins again has a new one.
class Sessions {
 public:
  static constexpr size_t kMost = 4096;

  struct Session {
    std::string instance;                         // who joined
    Secret key;                                   // of this session
    std::shared_ptr<std::atomic<uint64_t>> sent;  // bytes to this instance
    std::vector<std::string> tokens;              // of its connections
  };

  // Returns the session's id, which nobody can guess. The caller may open the
  // connections of the session: see ConnectionToken.
  std::string Add(const std::string& instance, Secret key);
  // Whether a connection of a session has this token, and was not opened yet.
  // It is now.
  bool Enter(const std::string& token);
  // Null if there is none.
  std::shared_ptr<const Session> Find(const std::string& id) const;
  // Bytes that went to this instance.
  uint64_t SentTo(const std::string& instance) const;

 private:
  void Forget(const std::string& instance) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable Mutex mu_;
  absl::flat_hash_map<std::string, std::shared_ptr<const Session>> sessions_
      ABSL_GUARDED_BY(mu_);
  // Of each instance, the id of its session.
  absl::flat_hash_map<std::string, std::string> ids_ ABSL_GUARDED_BY(mu_);
  // Of connections that may still be opened.
  absl::flat_hash_set<std::string> tokens_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs::peers

#endif  // SHUFFLEFS_PEERS_TRANSPORT_SESSIONS_H_
