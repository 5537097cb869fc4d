// SPDX-License-Identifier: Apache-2.0
#include "core/binding/nodes/silent_nodes.h"

namespace shufflefs {
namespace {

// How often a node that has shown another epoch for long is asked again.
constexpr std::chrono::milliseconds kAskAgain{1000};

}  // namespace

void SilentNodes::Heard(const std::string& node, const absl::Status& answer,
                        Clock::time_point sent, bool is_current) {
  const bool is_apart = absl::IsFailedPrecondition(answer);
  if (answer.ok() || is_apart) {
    away_since_.erase(node);
  } else {
    away_since_.emplace(node, sent);
  }
  if (!is_current) return;
  if (answer.ok()) {
    apart_.erase(node);
  } else if (is_apart) {
    apart_.emplace(node, Apart{sent, sent});
  }
}

SilentNodes::Clock::duration SilentNodes::AwayFor(
    const std::string& node) const {
  const auto found = away_since_.find(node);
  return found == away_since_.end() ? Clock::duration(0)
                                    : Clock::now() - found->second;
}

bool SilentNodes::IsApartFor(const std::string& node, Clock::duration within) {
  const auto found = apart_.find(node);
  const Clock::time_point now = Clock::now();
  if (found == apart_.end() || now - found->second.since < within) return false;
  if (now - found->second.asked_again < kAskAgain) return true;
  found->second.asked_again = now;  // by this question
  return false;
}

}  // namespace shufflefs
