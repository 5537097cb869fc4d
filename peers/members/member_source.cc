// SPDX-License-Identifier: Apache-2.0
#include "peers/members/member_source.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/status.h"
#include "peers/members/dns_members.h"
#include "peers/members/etcd_members.h"
#include "peers/members/hostlist.h"

namespace shufflefs::peers {
namespace {

// Members that never change: those of a list or of a Slurm job.
class ListedMembers : public MemberSource {
 public:
  explicit ListedMembers(Members members) : members_(std::move(members)) {}
  void Start(Changed changed) override { changed(members_); }
  void Stop() override {}
  const Members* listed() const override { return &members_; }

 private:
  const Members members_;
};

using Made = absl::StatusOr<std::unique_ptr<MemberSource>>;

absl::Status Wrong(const absl::Status& status) {
  return absl::InvalidArgumentError(absl::StrCat("peers: ", status.message()));
}

Made MakeFixed(const MemberSourceOptions& options) {
  Members members;
  for (absl::string_view text :
       absl::StrSplit(options.members, ';', absl::SkipWhitespace())) {
    absl::StatusOr<HostPort> at =
        ParseHostPort(absl::StripAsciiWhitespace(text));
    if (!at.ok()) return Wrong(at.status());
    if (at->port == 0) {
      return absl::InvalidArgumentError("peers: a member needs a port");
    }
    members.names.push_back(at->Text());
    if (members.self.empty() && IsSameAddress(*at, options.own)) {
      members.self = at->Text();
    }
  }
  return std::make_unique<ListedMembers>(std::move(members));
}

// Slurm's daemon sets the environment of a job's steps, prologs and batch
// script. A step may run on some of the job's nodes. If it runs on one, the
// others may have steps of their own.
absl::StatusOr<std::vector<std::string>> SlurmNodes() {
  const char* const job = std::getenv("SLURM_JOB_NODELIST");
  if (job == nullptr) {
    return absl::FailedPreconditionError(
        "peers = slurm: SLURM_JOB_NODELIST is not set; mount inside a job");
  }
  const char* const step = std::getenv("SLURM_STEP_NODELIST");
  auto hosts = ExpandHostlist(step != nullptr ? step : job);
  if (hosts.ok() && hosts->size() == 1) hosts = ExpandHostlist(job);
  if (!hosts.ok()) return Wrong(hosts.status());
  return hosts;
}

// SLURMD_NODENAME is this node's name in the list.
Made MakeSlurm(const MemberSourceOptions& options) {
  const absl::StatusOr<std::vector<std::string>> hosts = SlurmNodes();
  if (!hosts.ok()) return hosts.status();
  const char* own = std::getenv("SLURMD_NODENAME");
  Members members;
  for (const std::string& host : *hosts) {
    const HostPort at{host, options.own.port};
    members.names.push_back(at.Text());
    if (own != nullptr ? host == own : IsSameAddress(at, options.own)) {
      members.self = at.Text();
    }
  }
  return std::make_unique<ListedMembers>(std::move(members));
}

Made MakeDns(absl::string_view text, const std::string& own) {
  absl::StatusOr<HostPort> service = ParseHostPort(text);
  if (!service.ok()) return Wrong(service.status());
  return std::make_unique<DnsMembers>(
      *std::move(service), [own](const std::string& host) {
        return DnsMembers::OfOneFamily(DnsMembers::System(host), own);
      });
}

Made MakeEtcd(absl::string_view text, const MemberSourceOptions& options) {
  const size_t slash = text.rfind('/');
  if (slash == absl::string_view::npos || slash + 1 == text.size()) {
    return absl::InvalidArgumentError(
        "peers: etcd needs a name for the group: etcd:HOST:PORT/NAME");
  }
  EtcdOptions etcd{.endpoints = {},
                   .group = std::string(text.substr(slash + 1)),
                   .own = options.own.Text(),
                   .instance = options.instance,
                   .log = options.log};
  for (absl::string_view each :
       absl::StrSplit(text.substr(0, slash), ';', absl::SkipWhitespace())) {
    absl::StatusOr<HostPort> at = ParseHostPort(each);
    if (!at.ok()) return Wrong(at.status());
    etcd.endpoints.push_back(at->Text());
  }
  if (etcd.endpoints.empty()) {
    return absl::InvalidArgumentError("peers: etcd needs HOST:PORT");
  }
  return std::make_unique<EtcdMembers>(std::move(etcd));
}

}  // namespace

Made MakeMemberSource(const MemberSourceOptions& options) {
  absl::string_view text = options.members;
  if (text == "slurm") return MakeSlurm(options);
  if (absl::ConsumePrefix(&text, "dns:"))
    return MakeDns(text, options.own.host);
  if (absl::ConsumePrefix(&text, "etcd:")) return MakeEtcd(text, options);
  return MakeFixed(options);
}

}  // namespace shufflefs::peers
