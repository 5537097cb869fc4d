// SPDX-License-Identifier: Apache-2.0
// PeerLink: this daemon's way to one member.
#ifndef SHUFFLEFS_PEERS_TRANSPORT_PEER_LINK_H_
#define SHUFFLEFS_PEERS_TRANSPORT_PEER_LINK_H_

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/status.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/mutex.h"
#include "core/peers/peer_transport.h"
#include "peers/access/secret.h"
#include "peers/access/security.h"
#include "peers/members/member_source.h"
#include "peers/proto/peers.pb.h"
#include "peers/transport/instance_claims.h"

namespace shufflefs::peers {

struct LinkTimes {
  std::chrono::milliseconds ping{2000};        // between signs of life
  std::chrono::milliseconds answer{2000};      // to a greeting or a ping
  std::chrono::milliseconds first_retry{200};  // doubles up to most_retry
  std::chrono::milliseconds most_retry{5000};
  // Until the next try, and until a name that seems to be this daemon's is
  // greeted again.
  std::chrono::milliseconds refused{10000};
  // That this daemon has with a stranger's greeting: ServerOptions.
  std::chrono::milliseconds patience{10000};
};

// What all links of a daemon share. Constant. The functions are thread-safe and
// do not block.
struct LinkContext {
  PeerIdentity identity;
  std::string instance;
  std::string name;   // host:port of this daemon
  uint64_t list = 0;  // the hash of the list of members; 0: there is none
  Security security;
  PeerService* service = nullptr;
  LinkTimes times;
  LogLine log;
  std::shared_ptr<InstanceClaims> claims;
  std::function<void()> changed;  // a link should be shown or ticked anew
  // Runs it soon, on a thread of the transport.
  std::function<void(std::function<void()>)> post;
};

// Greets the member, joins it, and pings it every few seconds, over each of the
// session's connections in turn. A member that does not answer a request in
// time is pinged at once, over the same connection, and gets no requests until
// it answers. If it does not answer the ping either, all requests to it
// end, and it is greeted anew, by new connections: old ones may be half open.
// So a member that hangs costs each request one deadline at most.
//
// Thread-safe. Nothing blocks but Stop. Callbacks of gRPC share the ownership.
class PeerLink : public std::enable_shared_from_this<PeerLink> {
 public:
  using Clock = std::chrono::steady_clock;

  // `self`: the member is known to be this daemon. Else it may turn out to be.
  PeerLink(std::shared_ptr<const LinkContext> context, std::string name,
           bool self);
  ~PeerLink();

  // Begins what is due. Called by one thread, often.
  void Tick(Clock::time_point now);

  struct Look {
    bool self = false;
    bool known_self = false;  // whatever answers there
    bool joined = false;
    std::string why;       // if not joined
    std::string instance;  // of the member; "" if not known
  };
  Look look() const;

  struct Request {
    const char* method = nullptr;  // a constant
    std::string body;
    std::chrono::milliseconds within{0};
    // Takes what it wants of an answer. Returns how many bytes of files came.
    std::function<absl::StatusOr<uint64_t>(const grpc::ByteBuffer&)> take;
    PeerTransport::Done done;
  };
  // False if the member is not joined; `request` is then as it was. Else `done`
  // will be called, by a thread of gRPC or by `post`.
  bool Ask(Request& request);

  // Without `sent`, which the server knows.
  PeerTransport::Traffic traffic() const;

  // Never joins the member, and says why. Call it before the first Tick.
  void Refuse(std::string why) {
    MutexLock lock(mu_);
    state_ = State::kStopped;
    why_ = std::move(why);
  }

  // Ends all requests, and returns when their `done` have returned. Waits for
  // nobody else.
  void Stop();

 private:
  enum class State { kAway, kJoined, kDoubted, kSelf, kStopped };
  struct Call;
  struct AskCall;
  struct ControlCall;
  using Calls = std::vector<std::shared_ptr<Call>>;

  void Greet();
  void Join(const v1::GreetAnswer& greeting);
  // Returns whether this link may join the daemon. If not, another one does.
  bool Claim(const std::string& instance);
  void ReleaseClaim();
  void Ping();
  void EndGreet(const ControlCall& call);
  void EndJoin(const ControlCall& call);
  void EndPing(const ControlCall& call);
  void EndAsk(const std::shared_ptr<AskCall>& call, const grpc::Status& status);
  absl::Status ResultOf(AskCall& call, const grpc::Status& status);
  // OK if the answer is one to the call, by a holder of the secret. `session`
  // stays empty if this daemon itself answered.
  absl::Status CheckJoin(const ControlCall& call, std::string& session) const;

  using Ended = void (PeerLink::*)(const ControlCall&);
  void StartControl(std::shared_ptr<ControlCall> call, Ended ended);
  // False if the link has stopped.
  bool Add(const std::shared_ptr<Call>& call);
  void Remove(const std::shared_ptr<Call>& call);
  // The connection for Greet and Join, if there is none.
  void ConnectToDesk() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  void Lost(const std::string& why);
  void Refused(const std::string& why);
  void Joined(const ControlCall& call, const std::string& session);
  void FoundSelf();
  void Doubt(size_t connection, const std::string& why);
  void Rejoin();
  // The state after a control call. Returns the requests to cancel.
  Calls Leave(const std::string& why, std::chrono::milliseconds wait)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Constant after construction.
  const std::shared_ptr<const LinkContext> context_;
  const std::string name_;
  const bool known_self_;

  // Thread-safe themselves.
  std::atomic<uint64_t> received_{0};
  std::atomic<uint64_t> requests_{0};
  std::atomic<uint64_t> failed_{0};
  std::atomic<uint64_t> source_bytes_{0};  // of the member, as it told last

  mutable Mutex mu_;
  CondVar ended_;  // calls_ became empty
  State state_ ABSL_GUARDED_BY(mu_);
  bool busy_ ABSL_GUARDED_BY(mu_) = false;  // a control call is under way
  bool refused_ ABSL_GUARDED_BY(mu_) = false;
  Clock::time_point due_ ABSL_GUARDED_BY(mu_);  // of the next control call
  uint32_t failures_ ABSL_GUARDED_BY(mu_) = 0;  // since it was joined
  std::string why_ ABSL_GUARDED_BY(mu_) = "no answer yet";
  std::string instance_ ABSL_GUARDED_BY(mu_);  // that it last claimed
  std::string session_ ABSL_GUARDED_BY(mu_);
  Secret key_ ABSL_GUARDED_BY(mu_);  // of the session
  std::shared_ptr<grpc::GenericStub> desk_ ABSL_GUARDED_BY(mu_);
  // Of the session.
  std::vector<std::shared_ptr<grpc::GenericStub>> stubs_ ABSL_GUARDED_BY(mu_);
  size_t turn_ ABSL_GUARDED_BY(mu_) = 0;       // of stubs_, for requests
  size_t ping_turn_ ABSL_GUARDED_BY(mu_) = 0;  // and for pings
  // A bit for each of stubs_ that left a request unanswered. These are pinged
  // first; the member is trusted again when all have answered.
  uint32_t doubted_ ABSL_GUARDED_BY(mu_) = 0;
  absl::flat_hash_set<std::shared_ptr<Call>> calls_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs::peers

#endif  // SHUFFLEFS_PEERS_TRANSPORT_PEER_LINK_H_
