// SPDX-License-Identifier: Apache-2.0
#include "core/sampler/epoch_opens.h"

#include <algorithm>
#include <utility>

namespace shufflefs {

bool EpochOpens::IsRecent(uint32_t index) const {
  return std::find(recent_.begin(), recent_.end(), index + 1) != recent_.end();
}

void EpochOpens::Add(uint32_t index) {
  if (!opened_[index]) ++count_;
  opened_[index] = true;
}

void EpochOpens::NoteDraw(bool again) {
  ++draws_;
  drawn_again_ += again ? 1 : 0;
  if (drawn_again_ == kDrawsAgain &&
      draws_ * draws_ <= kDrawsFactor * opened_.size()) {
    draws_again_ = true;
  }
}

void EpochOpens::ForgetSuspects() {
  suspects_.clear();
  again_ = 0;
  score_ = 0;
}

std::vector<EpochOpens::Open> EpochOpens::Note(const Open& open) {
  const bool again = opened_[open.index] && !IsRecent(open.index);
  recent_[next_recent_++ % kRecent] = open.index + 1;
  Add(open.index);
  NoteDraw(again);
  if (!again && score_ == 0) return {};
  suspects_.push_back(open);
  again_ += again ? 1 : 0;
  score_ += again ? kWeight : -1;
  if (score_ <= 0 || suspects_.size() == kMostSuspects) {
    strays_ += again_;
    if (strays_ >= kStrays) draws_again_ = true;
    ForgetSuspects();
    return {};
  }
  if (again_ < std::min<uint64_t>(kEnough, opened_.size())) return {};
  const std::vector<Open> first = std::exchange(suspects_, {});
  Begin(first);
  return first;
}

void EpochOpens::Begin(const std::vector<Open>& first) {
  opened_.assign(opened_.size(), false);
  count_ = 0;
  draws_ = first.size();
  drawn_again_ = 0;
  strays_ = 0;
  draws_again_ = false;
  ForgetSuspects();
  for (const Open& open : first) Add(open.index);
}

}  // namespace shufflefs
