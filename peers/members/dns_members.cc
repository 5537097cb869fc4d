// SPDX-License-Identifier: Apache-2.0
#include "peers/members/dns_members.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <iterator>
#include <stop_token>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "core/base/mutex.h"
#include "core/base/thread.h"

namespace shufflefs::peers {

// What the thread and its owner share.
struct DnsMembers::Shared {
  HostPort service;
  Resolve resolve;
  std::chrono::milliseconds every;
  Mutex mu;
  CondVar woken;
  Changed changed ABSL_GUARDED_BY(mu);  // null: stopped
  bool refresh ABSL_GUARDED_BY(mu) = false;
};

std::vector<std::string> DnsMembers::System(const std::string& host) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> keep(found,
                                                            freeaddrinfo);
  std::vector<std::string> addresses;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    char text[NI_MAXHOST] = "";
    if (getnameinfo(each->ai_addr, each->ai_addrlen, text, sizeof text, nullptr,
                    0, NI_NUMERICHOST) == 0) {
      addresses.emplace_back(text);
    }
  }
  return addresses;
}

std::vector<std::string> DnsMembers::OfOneFamily(
    const std::vector<std::string>& addresses, const std::string& own) {
  const auto is_same = [&own](const std::string& address) {
    return absl::StrContains(address, ':') == absl::StrContains(own, ':');
  };
  std::vector<std::string> same;
  std::copy_if(addresses.begin(), addresses.end(), std::back_inserter(same),
               is_same);
  return same.empty() ? addresses : same;
}

DnsMembers::DnsMembers(HostPort service, Resolve resolve,
                       std::chrono::milliseconds every)
    : shared_(std::make_shared<Shared>()) {
  shared_->service = std::move(service);
  shared_->resolve = std::move(resolve);
  shared_->every = every;
}

DnsMembers::~DnsMembers() { Stop(); }

void DnsMembers::Start(Changed changed) {
  {
    MutexLock lock(shared_->mu);
    shared_->changed = std::move(changed);
  }
  StartThread("sfs-peers-dns", [shared = shared_](std::stop_token) {
    Run(shared);
  }).detach();
}

void DnsMembers::Refresh() {
  MutexLock lock(shared_->mu);
  shared_->refresh = true;
  shared_->woken.SignalAll();
}

void DnsMembers::Stop() {
  MutexLock lock(shared_->mu);
  shared_->changed = nullptr;
  shared_->woken.SignalAll();
}

void DnsMembers::Run(const std::shared_ptr<Shared>& shared) {
  using Clock = std::chrono::steady_clock;
  // However often others see another group, the resolver is asked this rarely.
  const auto least = std::min(shared->every, std::chrono::milliseconds(1000));
  std::vector<std::string> last;
  for (;;) {
    std::vector<std::string> names;
    for (const std::string& host : shared->resolve(shared->service.host)) {
      names.push_back(HostPort{host, shared->service.port}.Text());
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    const auto asked = Clock::now();
    MutexLock lock(shared->mu);
    if (!shared->changed) return;
    if (!names.empty() && names != last) {
      last = names;
      shared->changed(Members{.names = std::move(names), .self = ""});
    }
    shared->refresh = false;
    for (;;) {
      const auto wait = shared->refresh ? least : shared->every;
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(
          asked + wait - Clock::now());
      if (!shared->changed) return;
      if (left.count() <= 0) break;
      shared->woken.WaitFor(shared->mu, left);
    }
  }
}

}  // namespace shufflefs::peers
