// SPDX-License-Identifier: Apache-2.0
// DnsMembers: the members are the addresses of one name, such as a headless
// Service of Kubernetes.
#ifndef SHUFFLEFS_PEERS_MEMBERS_DNS_MEMBERS_H_
#define SHUFFLEFS_PEERS_MEMBERS_DNS_MEMBERS_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "peers/members/member_source.h"

namespace shufflefs::peers {

// The thread sfs-peers-dns asks every few seconds. A resolver may hang for a
// minute. So Stop does not wait for the thread: it ends by itself and owns what
// it uses.
class DnsMembers : public MemberSource {
 public:
  // Numeric addresses of a host. Empty: not known, or nobody answered. Blocks.
  using Resolve = std::function<std::vector<std::string>(const std::string&)>;
  static std::vector<std::string> System(const std::string& host);
  // Those of the family of `own`, or the others if there are none. A daemon
  // that has an address of each would be two members.
  static std::vector<std::string> OfOneFamily(
      const std::vector<std::string>& addresses, const std::string& own);

  explicit DnsMembers(
      HostPort service, Resolve resolve = System,
      std::chrono::milliseconds every = std::chrono::seconds(5));
  ~DnsMembers() override;

  void Start(Changed changed) override;
  void Refresh() override;
  void Stop() override;

 private:
  struct Shared;
  static void Run(const std::shared_ptr<Shared>& shared);

  const std::shared_ptr<Shared> shared_;
};

}  // namespace shufflefs::peers

#endif  // SHUFFLEFS_PEERS_MEMBERS_DNS_MEMBERS_H_
