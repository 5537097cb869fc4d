// SPDX-License-Identifier: Apache-2.0
// GrpcTransport joins the parts of this module: where the members come from,
// a link to each of them, and the server that they ask.
#ifndef SHUFFLEFS_PEERS_TRANSPORT_GRPC_TRANSPORT_H_
#define SHUFFLEFS_PEERS_TRANSPORT_GRPC_TRANSPORT_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "core/base/mutex.h"
#include "core/base/published.h"
#include "core/peers/peer_transport.h"
#include "peers/members/member_source.h"
#include "peers/transport/peer_link.h"
#include "peers/transport/peer_server.h"

namespace shufflefs::peers {

// The thread sfs-peers ticks the links and publishes the group. Requests and
// answers run on threads of gRPC, and use no lock that sfs-peers holds for
// long.
class GrpcTransport : public PeerTransport {
 public:
  // As PeerTransportMaker says.
  static absl::StatusOr<std::unique_ptr<GrpcTransport>> Make(
      PeerTransportParts parts, const LinkTimes& times = {});
  ~GrpcTransport() override;

  std::shared_ptr<const PeerGroup> group() const override;
  void ReadExtent(const std::shared_ptr<const PeerGroup>& group, size_t index,
                  const PeerExtent& extent, std::chrono::milliseconds within,
                  std::vector<iovec> into, Done done) override;
  void Tell(const std::shared_ptr<const PeerGroup>& group, size_t index,
            const EpochMessage& message, std::chrono::milliseconds within,
            Done done) override;
  void BindNames(const std::shared_ptr<const PeerGroup>& group, size_t index,
                 const NameQuestion& question, std::chrono::milliseconds within,
                 PeerService::Samples done) override;
  std::vector<std::pair<std::string, Traffic>> traffic() const override;
  void Stop() override;

  // Where this daemon listens.
  const HostPort& address() const { return server_->address(); }

 private:
  using Task = std::function<void()>;
  using Links = absl::flat_hash_map<std::string, std::shared_ptr<PeerLink>>;

  GrpcTransport() = default;
  absl::Status Begin(PeerTransportParts parts, const LinkTimes& times);
  void Start();

  void Ask(const std::string& name, PeerLink::Request request);
  void Run(std::stop_token stop);
  // Makes links for these members, and drops those of all others.
  void Apply(const Members& members);
  // Publishes the group if a link looks different from before.
  void Publish();
  void WarnOfSelf(const PeerGroup& group);
  // Warns once if only this machine reaches the address of this daemon, and a
  // member is another machine.
  void WarnOfLoopback(const std::vector<std::string>& names);
  void SeenGroup(uint64_t hash);
  void Wake();
  void Post(Task task);

  // Constant after Make, but for what Stop ends.
  std::shared_ptr<const LinkContext> context_;
  std::unique_ptr<PeerServer> server_;
  std::unique_ptr<MemberSource> source_;

  // Thread-safe themselves.
  Published<PeerGroup> group_;
  Published<Links> links_;
  std::atomic<uint64_t> group_hash_{0};
  std::atomic<MemberSource*> refresh_{nullptr};  // source_, once it started

  // Of sfs-peers, and before of Make.
  PeerLink::Clock::time_point since_;  // the members changed
  bool warned_ = false;
  // WarnOfLoopback did.
  bool warned_of_loopback_ = false;

  Mutex mu_;
  CondVar woken_;
  bool wake_ ABSL_GUARDED_BY(mu_) = false;
  bool running_ ABSL_GUARDED_BY(mu_) = false;             // tasks have a thread
  absl::optional<Members> members_ ABSL_GUARDED_BY(mu_);  // to apply
  std::vector<Task> tasks_ ABSL_GUARDED_BY(mu_);

  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace shufflefs::peers

#endif  // SHUFFLEFS_PEERS_TRANSPORT_GRPC_TRANSPORT_H_
