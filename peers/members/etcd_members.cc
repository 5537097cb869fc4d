// SPDX-License-Identifier: Apache-2.0
#include "peers/members/etcd_members.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/interruptible_sleep.h"
#include "core/base/status.h"
#include "core/base/thread.h"

namespace shufflefs::peers {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLeaving{300};
constexpr milliseconds kBetweenEndpoints{200};
// Two daemons that both write a key would do so as fast as etcd answers.
constexpr milliseconds kAfterOther{10000};

}  // namespace

// Why sfs-peers-etcd stops waiting for its next turn.
class EtcdMembers::Wakeup {
 public:
  void Set() {
    MutexLock lock(mu_);
    set_ = true;
    woken_.SignalAll();
  }
  // Returns true if it was set before `time` passed.
  bool Wait(milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    MutexLock lock(mu_);
    while (!set_) {
      const auto left = std::chrono::ceil<milliseconds>(
          end - std::chrono::steady_clock::now());
      if (left.count() <= 0) return false;
      woken_.WaitFor(mu_, left);
    }
    return true;
  }

 private:
  Mutex mu_;
  CondVar woken_;
  bool set_ ABSL_GUARDED_BY(mu_) = false;
};

EtcdMembers::EtcdMembers(EtcdOptions options)
    : options_(std::move(options)),
      prefix_(absl::StrCat("/shufflefs/", options_.group, "/")),
      key_(prefix_ + options_.own),
      within_(std::min(milliseconds(2000), milliseconds(options_.lease) / 5)) {}

EtcdMembers::~EtcdMembers() { Stop(); }

void EtcdMembers::Start(Changed changed) {
  {
    MutexLock lock(mu_);
    changed_ = std::move(changed);
  }
  thread_ = StartThread("sfs-peers-etcd",
                        [this](std::stop_token stop) { Run(std::move(stop)); });
}

void EtcdMembers::Stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void EtcdMembers::Run(std::stop_token stop) {
  size_t turn = 0;
  const auto endpoint = [&]() -> const std::string& {
    return options_.endpoints[turn % options_.endpoints.size()];
  };
  for (; !stop.stop_requested(); ++turn) {
    EtcdClient client(endpoint(), within_);
    absl::Status status;
    {
      const std::stop_callback cancel(stop, [&client] { client.Cancel(); });
      status = Serve(client, stop);
    }
    if (stop.stop_requested()) break;
    const bool is_taken = absl::IsAlreadyExists(status);
    if (is_taken) {
      NoteOther(std::string(status.message()));
    } else if (answered_ || !complained_) {
      options_.log(LogLevel::kWarning,
                   absl::StrCat("peers: ", endpoint(), ": ", status.message(),
                                "; the last known members stay"));
      complained_ = true;
    }
    answered_ = false;
    WaitUnlessStopped(stop, is_taken ? kAfterOther : kBetweenEndpoints);
  }
  if (lease_ != 0) {
    EtcdClient(endpoint(), kLeaving).Revoke(lease_).IgnoreError();
  }
}

std::string EtcdMembers::OtherInstance() const {
  MutexLock lock(mu_);
  const auto own = members_.find(key_);
  if (own == members_.end() || own->second == options_.instance) return "";
  return own->second;
}

void EtcdMembers::NoteOther(std::string instance) {
  if (instance == other_) return;
  other_ = std::move(instance);
  options_.log(LogLevel::kWarning,
               absl::StrCat("peers: another daemon registers as ", options_.own,
                            ", so members reach one of the two only; set "
                            "peers.listen to an address of this machine"));
}

absl::Status EtcdMembers::Serve(EtcdClient& client, std::stop_token stop) {
  RETURN_IF_ERROR(Register(client));
  ASSIGN_OR_RETURN(EtcdClient::Listing listing, client.List(prefix_));
  if (listing.values[key_] != options_.instance) {
    RETURN_IF_ERROR(client.Put(key_, options_.instance, lease_));
    listing.values[key_] = options_.instance;
  }
  Replace(listing);
  if (complained_) {
    options_.log(LogLevel::kInfo, "peers: etcd answers again");
    complained_ = false;
  }
  answered_ = true;
  Wakeup wakeup;
  const std::stop_callback woken(stop, [&wakeup] { wakeup.Set(); });
  absl::Status watched;
  absl::Status kept;
  {
    const std::jthread watcher =
        StartThread("sfs-peers-watch", [&](const std::stop_token&) {
          watched = client.Watch(prefix_, listing.revision + 1,
                                 [&](const auto& changes) {
                                   if (!Apply(changes)) wakeup.Set();
                                 });
          wakeup.Set();
        });
    kept = KeepAlive(client, wakeup);
    client.Cancel();
  }
  if (!kept.ok()) return kept;
  if (!absl::IsCancelled(watched)) return watched;
  if (const std::string other = OtherInstance(); !other.empty()) {
    return absl::AlreadyExistsError(other);
  }
  return absl::AbortedError("etcd: the key of this daemon was removed");
}

absl::Status EtcdMembers::Register(EtcdClient& client) {
  if (lease_ != 0) {
    const absl::Status kept = client.KeepAlive(lease_);
    if (!absl::IsNotFound(kept)) return kept;
    lease_ = 0;
  }
  ASSIGN_OR_RETURN(lease_, client.Grant(options_.lease));
  return client.Put(key_, options_.instance, lease_);
}

// Returns OK if the watch is the reason to begin anew.
absl::Status EtcdMembers::KeepAlive(EtcdClient& client, Wakeup& wakeup) {
  while (!wakeup.Wait(milliseconds(options_.lease) / 3)) {
    RETURN_IF_ERROR(client.KeepAlive(lease_));
  }
  return absl::OkStatus();
}

void EtcdMembers::Replace(const EtcdClient::Listing& listing) {
  MutexLock lock(mu_);
  members_ = listing.values;
  Publish();
}

bool EtcdMembers::Apply(const std::vector<EtcdClient::Change>& changes) {
  MutexLock lock(mu_);
  for (const EtcdClient::Change& change : changes) {
    if (change.removed) {
      members_.erase(change.key);
    } else {
      members_[change.key] = change.value;
    }
  }
  Publish();
  const auto own = members_.find(key_);
  return own != members_.end() && own->second == options_.instance;
}

void EtcdMembers::Publish() {
  Members members;
  members.self = options_.own;
  for (const auto& [key, value] : members_) {
    if (key.size() <= prefix_.size()) continue;
    const std::string name = key.substr(prefix_.size());
    // Anyone may write to etcd.
    const absl::StatusOr<HostPort> at = ParseHostPort(name);
    if (at.ok() && at->Text() == name) members.names.push_back(name);
  }
  // If its key is gone, it is about to register again.
  if (members_.count(key_) == 0) members.names.push_back(options_.own);
  if (members.names == published_) return;
  published_ = members.names;
  changed_(std::move(members));
}

}  // namespace shufflefs::peers
