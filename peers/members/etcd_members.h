// SPDX-License-Identifier: Apache-2.0
// EtcdMembers: the members are the keys below /shufflefs/<group>/ in etcd. Each
// daemon writes its own name there, under a lease.
#ifndef SHUFFLEFS_PEERS_MEMBERS_ETCD_MEMBERS_H_
#define SHUFFLEFS_PEERS_MEMBERS_ETCD_MEMBERS_H_

#include <atomic>
#include <chrono>
#include <map>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "core/base/mutex.h"
#include "peers/members/etcd_client.h"
#include "peers/members/member_source.h"

namespace shufflefs::peers {

struct EtcdOptions {
  std::vector<std::string> endpoints;  // host:port, at least one
  std::string group;                   // without slash
  std::string own;                     // this daemon's name
  std::string instance;                // the value of its key
  LogLine log;
  // Others drop this daemon after this time without a sign of it. It asks three
  // times as often.
  std::chrono::seconds lease{10};
};

// The thread sfs-peers-etcd keeps the lease. sfs-peers-watch waits for changes.
// An endpoint that does not answer in time is left for the next one, which also
// serves if etcd's leader is stopped. If the lease ended meanwhile, the daemon
// registers again, and stays in its own group meanwhile. While no endpoint
// answers, the last known group stays. If another daemon has the same name,
// both take the key every ten seconds.
class EtcdMembers : public MemberSource {
 public:
  explicit EtcdMembers(EtcdOptions options);
  ~EtcdMembers() override;

  void Start(Changed changed) override;
  // Revokes the lease, and waits 0.3 s for that at most.
  void Stop() override;

 private:
  class Wakeup;

  void Run(std::stop_token stop);
  // Uses one endpoint until it fails. AlreadyExists is the instance of another
  // daemon that took the key.
  absl::Status Serve(EtcdClient& client, std::stop_token stop);
  absl::Status Register(EtcdClient& client);
  absl::Status KeepAlive(EtcdClient& client, Wakeup& wakeup);
  void Replace(const EtcdClient::Listing& listing);
  // Returns false if this daemon's own key is gone.
  bool Apply(const std::vector<EtcdClient::Change>& changes);
  // What another daemon has written over this one's key, or "".
  std::string OtherInstance() const;
  // Says so once.
  void NoteOther(std::string instance);
  void Publish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Constant after construction.
  const EtcdOptions options_;
  const std::string prefix_;
  const std::string key_;
  const std::chrono::milliseconds within_;  // of a call

  // Of the thread that calls Start and Stop.
  std::jthread thread_;

  // Of sfs-peers-etcd.
  int64_t lease_ = 0;      // 0 = none
  bool answered_ = false;  // some endpoint, since the last complaint
  bool complained_ = false;
  std::string other_;  // the last one that had this daemon's name

  mutable Mutex mu_;
  Changed changed_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, std::string> members_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> published_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs::peers

#endif  // SHUFFLEFS_PEERS_MEMBERS_ETCD_MEMBERS_H_
