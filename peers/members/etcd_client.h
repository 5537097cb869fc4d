// SPDX-License-Identifier: Apache-2.0
// EtcdClient speaks to one endpoint of etcd, by the part of its API that is in
// peers/proto/etcd.proto.
#ifndef SHUFFLEFS_PEERS_MEMBERS_ETCD_CLIENT_H_
#define SHUFFLEFS_PEERS_MEMBERS_ETCD_CLIENT_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/mutex.h"
#include "peers/proto/etcd.grpc.pb.h"

namespace grpc {
class ClientContext;
}

namespace shufflefs::peers {

// Thread-safe. Each call blocks for at most `within`, but Watch. Unavailable or
// DeadlineExceeded: the endpoint does not answer, or its cluster has no leader.
// Cancelled: after Cancel.
class EtcdClient {
 public:
  EtcdClient(const std::string& endpoint, std::chrono::milliseconds within);

  // A new lease.
  absl::StatusOr<int64_t> Grant(std::chrono::seconds life);
  // NotFound: the lease has ended.
  absl::Status KeepAlive(int64_t lease);
  absl::Status Revoke(int64_t lease);
  // The key goes away with its lease.
  absl::Status Put(const std::string& key, const std::string& value,
                   int64_t lease);

  struct Listing {
    std::map<std::string, std::string> values;  // by key
    int64_t revision = 0;
  };
  // All keys that begin with `prefix`, at most kMostKeys.
  absl::StatusOr<Listing> List(const std::string& prefix);

  struct Change {
    std::string key;
    std::string value;
    bool removed = false;
  };
  // Calls `changed` for all changes below `prefix` since `revision`, and blocks
  // until Cancel or an error. Aborted: etcd no longer has these changes.
  using Changed = std::function<void(const std::vector<Change>&)>;
  absl::Status Watch(const std::string& prefix, int64_t revision,
                     const Changed& changed);

  // All calls that run or come later end with Cancelled.
  void Cancel();

  static constexpr int64_t kMostKeys = 4096;

 private:
  class Running;  // a call, while it runs

  // Constant after construction.
  const std::chrono::milliseconds within_;
  // Thread-safe themselves.
  std::unique_ptr<etcdserverpb::KV::Stub> kv_;
  std::unique_ptr<etcdserverpb::Lease::Stub> lease_;
  std::unique_ptr<etcdserverpb::Watch::Stub> watch_;

  Mutex mu_;
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<grpc::ClientContext*> running_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs::peers

#endif  // SHUFFLEFS_PEERS_MEMBERS_ETCD_CLIENT_H_
