// SPDX-License-Identifier: Apache-2.0
#include "peers/transport/sessions.h"

#include <utility>

#include "peers/access/greeting.h"
#include "peers/transport/wire.h"

namespace shufflefs::peers {

std::string Sessions::Add(const std::string& instance, Secret key) {
  std::string id = RandomBytes(kIdBytes);
  auto session = std::make_shared<Session>();
  session->instance = instance;
  for (int i = 0; i < kConnections; ++i) {
    session->tokens.push_back(ConnectionToken(id, key, i));
  }
  session->key = std::move(key);
  MutexLock lock(mu_);
  if (const auto known = ids_.find(instance); known != ids_.end()) {
    session->sent = sessions_[known->second]->sent;
    Forget(instance);
  } else {
    session->sent = std::make_shared<std::atomic<uint64_t>>(0);
    if (ids_.size() >= kMost) Forget(std::string(ids_.begin()->first));
  }
  ids_[instance] = id;
  tokens_.insert(session->tokens.begin(), session->tokens.end());
  sessions_[id] = std::move(session);
  return id;
}

bool Sessions::Enter(const std::string& token) {
  MutexLock lock(mu_);
  return tokens_.erase(token) > 0;
}

std::shared_ptr<const Sessions::Session> Sessions::Find(
    const std::string& id) const {
  MutexLock lock(mu_);
  const auto found = sessions_.find(id);
  return found == sessions_.end() ? nullptr : found->second;
}

uint64_t Sessions::SentTo(const std::string& instance) const {
  MutexLock lock(mu_);
  const auto id = ids_.find(instance);
  if (id == ids_.end()) return 0;
  return sessions_.find(id->second)->second->sent->load();
}

void Sessions::Forget(const std::string& instance) {
  const auto id = ids_.find(instance);
  for (const std::string& token : sessions_[id->second]->tokens) {
    tokens_.erase(token);
  }
  sessions_.erase(id->second);
  ids_.erase(id);
}

}  // namespace shufflefs::peers
