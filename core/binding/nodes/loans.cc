// SPDX-License-Identifier: Apache-2.0
#include "core/binding/nodes/loans.h"

namespace shufflefs {

void Loans::BeginEpoch() {
  asked_of_.clear();
  since_.clear();
  given_up_.clear();
}

uint32_t Loans::NextLender(uint64_t name,
                           const std::vector<std::string>& members,
                           uint32_t self, const SilentNodes& silent) {
  const auto count = static_cast<uint32_t>(members.size());
  ++asked_;
  const auto [asked, is_new] = asked_of_.try_emplace(name, self);
  if (!is_new) return asked->second;
  for (uint32_t tries = 0;; ++tries) {
    const uint32_t lender = next_++ % count;
    const bool is_silent =
        silent.IsAway(members[lender]) || silent.IsApart(members[lender]);
    if (lender != self && (!is_silent || tries >= count)) {
      return asked->second = lender;
    }
  }
}

bool Loans::Refused(uint64_t name, GroupId group, bool by_lender,
                    std::chrono::milliseconds within) {
  asked_of_.erase(name);  // so another one is asked next
  const SilentNodes::Clock::time_point now = SilentNodes::Clock::now();
  const auto since = since_.try_emplace(name, now).first->second;
  if (now - since < within && !GaveUp(group)) return false;
  if (by_lender) given_up_.insert(group.value());
  return true;
}

}  // namespace shufflefs
