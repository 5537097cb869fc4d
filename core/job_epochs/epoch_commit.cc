// SPDX-License-Identifier: Apache-2.0
#include "core/job_epochs/epoch_commit.h"

#include <algorithm>

namespace shufflefs {

size_t EpochCommit::Entries(bool pairs) const {
  size_t most = 0;
  for (const auto& [name, names] : opened) {
    most = std::max(most, names.size());
  }
  return retained.size() * (pairs ? 2 : 1) + most;
}

void EpochCommit::ShareAmongPrepared() {
  sharers.clear();
  for (const auto& [name, had] : first) sharers.push_back(name);
  if (!FitsMessage(sharers)) sharers.clear();
}

void EpochCommit::Tell(const std::string& to,
                       const std::vector<uint64_t>& sample_of,
                       EpochMessage& message) const {
  message.epoch = from_epoch;
  message.binding = from_binding;
  message.next = next;
  message.reason = verdict;
  message.names.assign(retained.begin(), retained.end());
  // Only who opened a name knows what it shows.
  for (const uint64_t name : retained) {
    if (!sample_of.empty() && sample_of[name] != kUnknown) {
      message.pairs.push_back({name, sample_of[name]});
    }
  }
  if (const auto names = opened.find(to); names != opened.end()) {
    message.opened = names->second;
  }
  message.members = sharers;
  if (const auto had = first.find(to); had != first.end()) {
    message.first = had->second;
  }
}

}  // namespace shufflefs
