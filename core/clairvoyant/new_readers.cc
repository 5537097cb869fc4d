// SPDX-License-Identifier: Apache-2.0
#include "core/clairvoyant/new_readers.h"

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
  if (new_.size() > kMostNew) {  // a thread for each file: they tell nothing
    Join();
    return {};
  }
  if (opens_.size() < std::max(kLeastOpens, kOpensEach * new_.size())) {
    return {};
  }
  known_ = std::exchange(new_, {});
  return std::exchange(opens_, {});
}

void NewReaders::Begin(const std::vector<EpochOpens::Open>& first) {
  known_.clear();
  new_.clear();
  opens_.clear();
  for (const EpochOpens::Open& open : first) known_.insert(open.thread);
}

void NewReaders::Join() {
  if (known_.size() > kMostThreads) known_.clear();
  known_.insert(new_.begin(), new_.end());
  new_.clear();
  opens_.clear();
}

}  // namespace shufflefs
