// SPDX-License-Identifier: Apache-2.0
// InstanceClaims lets one link at a time join a daemon. Two names may be of one
// daemon, which has one session for each other one: without claims, each link
// would end the session of the other link, again and again.
#ifndef SHUFFLEFS_PEERS_TRANSPORT_INSTANCE_CLAIMS_H_
#define SHUFFLEFS_PEERS_TRANSPORT_INSTANCE_CLAIMS_H_

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/types/optional.h"
#include "core/base/mutex.h"

namespace shufflefs::peers {

// Links are known by the names of their members. Thread-safe; never blocks.
class InstanceClaims {
 public:
  struct Holder {
    std::string name;
    // The daemon has proven that it is there. Else anybody may have said so,
    // and the claim ends soon.
    bool joined = false;
  };
  // Returns who holds the instance. If nobody else does, it is `name` now.
  absl::optional<Holder> Claim(const std::string& instance,
                               const std::string& name) {
    MutexLock lock(mu_);
    const auto [at, is_new] = holders_.try_emplace(instance, Holder{name});
    if (is_new || at->second.name == name) return absl::nullopt;
    return at->second;
  }
  // The holder has joined.
  void Confirm(const std::string& instance, const std::string& name) {
    MutexLock lock(mu_);
    const auto at = holders_.find(instance);
    if (at != holders_.end() && at->second.name == name) {
      at->second.joined = true;
    }
  }
  // Nothing happens if `name` does not hold it.
  void Release(const std::string& instance, const std::string& name) {
    MutexLock lock(mu_);
    const auto at = holders_.find(instance);
    if (at != holders_.end() && at->second.name == name) holders_.erase(at);
  }

 private:
  Mutex mu_;
  absl::flat_hash_map<std::string, Holder> holders_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs::peers

#endif  // SHUFFLEFS_PEERS_TRANSPORT_INSTANCE_CLAIMS_H_
