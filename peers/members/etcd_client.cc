// SPDX-License-Identifier: Apache-2.0
#include "peers/members/etcd_client.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace shufflefs::peers {
namespace {

absl::Status EtcdStatus(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      absl::StrCat("etcd: ", status.error_message()));
}

// The first key behind all keys with the prefix, as etcd wants it.
std::string EndOf(std::string prefix) {
  ++prefix.back();  // it ends with a slash
  return prefix;
}

std::shared_ptr<grpc::Channel> ChannelTo(const std::string& endpoint) {
  grpc::ChannelArguments arguments;
  // A new client gets a new connection: an old one may be half open.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  return grpc::CreateCustomChannel(
      "dns:///" + endpoint, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

// Registers the call's context for Cancel, and sets its deadline.
class EtcdClient::Running {
 public:
  Running(EtcdClient& client, absl::optional<std::chrono::milliseconds> within)
      : client_(client) {
    // A member of a cluster without a leader refuses instead of waiting, and
    // ends its watches.
    context_.AddMetadata("hasleader", "true");
    if (within) {
      context_.set_deadline(std::chrono::system_clock::now() + *within);
    }
    MutexLock lock(client_.mu_);
    client_.running_.push_back(&context_);
    if (client_.cancelled_) context_.TryCancel();
  }
  ~Running() {
    MutexLock lock(client_.mu_);
    std::erase(client_.running_, &context_);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  grpc::ClientContext* context() { return &context_; }

 private:
  EtcdClient& client_;
  grpc::ClientContext context_;
};

EtcdClient::EtcdClient(const std::string& endpoint,
                       std::chrono::milliseconds within)
    : within_(within) {
  const std::shared_ptr<grpc::Channel> channel = ChannelTo(endpoint);
  kv_ = etcdserverpb::KV::NewStub(channel);
  lease_ = etcdserverpb::Lease::NewStub(channel);
  watch_ = etcdserverpb::Watch::NewStub(channel);
}

absl::StatusOr<int64_t> EtcdClient::Grant(std::chrono::seconds life) {
  Running call(*this, within_);
  etcdserverpb::LeaseGrantRequest request;
  request.set_ttl(life.count());
  etcdserverpb::LeaseGrantResponse response;
  RETURN_IF_ERROR(
      EtcdStatus(lease_->LeaseGrant(call.context(), request, &response)));
  return response.id();
}

absl::Status EtcdClient::KeepAlive(int64_t lease) {
  Running call(*this, within_);
  const auto stream = lease_->LeaseKeepAlive(call.context());
  etcdserverpb::LeaseKeepAliveRequest request;
  request.set_id(lease);
  etcdserverpb::LeaseKeepAliveResponse response;
  const bool answered = stream->Write(request) && stream->Read(&response);
  if (!answered) {
    const absl::Status status = EtcdStatus(stream->Finish());
    return status.ok() ? absl::UnavailableError("etcd: no answer") : status;
  }
  call.context()->TryCancel();
  stream->Finish().IgnoreError();
  if (response.ttl() <= 0) return absl::NotFoundError("etcd: the lease ended");
  return absl::OkStatus();
}

absl::Status EtcdClient::Revoke(int64_t lease) {
  Running call(*this, within_);
  etcdserverpb::LeaseRevokeRequest request;
  request.set_id(lease);
  etcdserverpb::LeaseRevokeResponse response;
  return EtcdStatus(lease_->LeaseRevoke(call.context(), request, &response));
}

absl::Status EtcdClient::Put(const std::string& key, const std::string& value,
                             int64_t lease) {
  Running call(*this, within_);
  etcdserverpb::PutRequest request;
  request.set_key(key);
  request.set_value(value);
  request.set_lease(lease);
  etcdserverpb::PutResponse response;
  return EtcdStatus(kv_->Put(call.context(), request, &response));
}

absl::StatusOr<EtcdClient::Listing> EtcdClient::List(
    const std::string& prefix) {
  Running call(*this, within_);
  etcdserverpb::RangeRequest request;
  request.set_key(prefix);
  request.set_range_end(EndOf(prefix));
  request.set_limit(kMostKeys);
  etcdserverpb::RangeResponse response;
  RETURN_IF_ERROR(EtcdStatus(kv_->Range(call.context(), request, &response)));
  Listing listing;
  listing.revision = response.header().revision();
  for (const etcdserverpb::KeyValue& each : response.kvs()) {
    listing.values[each.key()] = each.value();
  }
  return listing;
}

absl::Status EtcdClient::Watch(const std::string& prefix, int64_t revision,
                               const Changed& changed) {
  Running call(*this, absl::nullopt);
  const auto stream = watch_->Watch(call.context());
  etcdserverpb::WatchRequest request;
  request.mutable_create_request()->set_key(prefix);
  request.mutable_create_request()->set_range_end(EndOf(prefix));
  request.mutable_create_request()->set_start_revision(revision);
  etcdserverpb::WatchResponse response;
  bool aborted = false;
  for (bool on = stream->Write(request); on && stream->Read(&response);) {
    aborted = response.canceled() || response.compact_revision() != 0;
    if (aborted) break;
    std::vector<Change> changes;
    for (const etcdserverpb::Event& event : response.events()) {
      changes.push_back(
          {.key = event.kv().key(),
           .value = event.kv().value(),
           .removed = event.type() == etcdserverpb::Event::DELETE});
    }
    if (!changes.empty()) changed(changes);
  }
  call.context()->TryCancel();
  const absl::Status status = EtcdStatus(stream->Finish());
  if (aborted) return absl::AbortedError("etcd: it ended the watch");
  return status.ok() ? absl::UnavailableError("etcd: the watch ended") : status;
}

void EtcdClient::Cancel() {
  MutexLock lock(mu_);
  cancelled_ = true;
  for (grpc::ClientContext* context : running_) context->TryCancel();
}

}  // namespace shufflefs::peers
