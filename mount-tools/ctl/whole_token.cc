// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/whole_token.h"

#include <algorithm>
#include <utility>

namespace shufflefs {
namespace {

bool IsItsEpoch(const LedgerEpoch& epoch, const EpochToken& token) {
  return epoch.epoch == token.epoch && epoch.binding == token.binding &&
         epoch.seed == token.seed && epoch.policy == token.policy &&
         epoch.fingerprint == token.fingerprint &&
         epoch.reactive == token.reactive();
}

// Returns whether `state` has all pairs that `token` counts. It may have later
// ones, too.
bool HasPairs(const LedgerState& state, const EpochToken& token) {
  const EpochToken then = TokenOf(state, token.keys, token.position);
  return then.position == token.position && then.digest == token.digest;
}

}  // namespace

absl::StatusOr<absl::optional<EpochToken>> WholeToken(
    const EpochToken& token, const LedgerState& state) {
  if (!IsItsEpoch(state.begin, token)) return absl::optional<EpochToken>();
  if (token.reactive() && !HasPairs(state, token)) {
    return absl::FailedPreconditionError(
        "the mount's ledger lacks a part of what was read; save again when "
        "shufflectl status shows no warning of it");
  }
  EpochToken whole = TokenOf(state, token.keys, absl::nullopt);
  // Of a planned epoch that began with another state directory, the ledger may
  // lack some samples. The plan says what they were.
  whole.position = std::max(whole.position, token.position);
  whole.whole = token.whole;
  whole.by_hand = token.by_hand;
  return absl::make_optional(std::move(whole));
}

}  // namespace shufflefs
