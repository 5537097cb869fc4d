// SPDX-License-Identifier: Apache-2.0
#include "core/sampler/new_readers.h"

#include <algorithm>
#include <utility>

namespace shufflefs {

std::vector<EpochOpens::Open> NewReaders::Note(const EpochOpens::Open& open) {
  if (known_.empty() || known_.contains(open.thread)) {
    Join();
    known_.insert(open.thread);
    return {};
  }
  new_.insert(open.thread);
  opens_.push_back(open);
  // One thread per file shows nothing.
  if (new_.size() > kMostNew || opens_.size() > kMostOpens) {
    Join();
    return {};
  }
  if (opens_.size() < std::max(look_, kOpensEach * new_.size())) return {};
  look_ = 2 * opens_.size();
  if (!AreOthersGone()) return {};
  known_ = std::exchange(new_, {});
  look_ = kLeastOpens;
  return std::exchange(opens_, {});
}

bool NewReaders::AreOthersGone() const {
  return std::all_of(known_.begin(), known_.end(), is_gone_);
}

void NewReaders::Begin(const std::vector<EpochOpens::Open>& first) {
  new_.clear();
  Join();
  known_.clear();
  for (const EpochOpens::Open& open : first) known_.insert(open.thread);
}

void NewReaders::Join() {
  if (known_.size() > kMostThreads) known_.clear();
  known_.insert(new_.begin(), new_.end());
  new_.clear();
  opens_.clear();
  look_ = kLeastOpens;
}

}  // namespace shufflefs
