// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/whole_token.h"

#include <algorithm>
#include <utility>

#include "core/base/status.h"
#include "core/config/config.h"
#include "core/engine/state_dir.h"
#include "core/ledger/ledger_history.h"

namespace shufflefs {
namespace {

// The next epoch may begin between two reads of the mount, but hardly ever
// twice.
constexpr int kTries = 5;

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

// Returns whether the line of a token has all that belongs to it.
bool IsWhole(const EpochToken& token) {
  return token.reactive() ? token.pairs.has_value()
                          : token.read.size() >= token.position.value_or(0);
}

// WholeToken with what the ledger of the mount says.
absl::StatusOr<absl::optional<EpochToken>> FromLedger(const MountClient& mount,
                                                      const EpochToken& token) {
  ASSIGN_OR_RETURN(const MountConfig config, mount.ReadConfig());
  ASSIGN_OR_RETURN(const std::string path, StatePath(config));
  LedgerHistory history(LedgerKeep{});
  RETURN_IF_ERROR(ReplayLedger(LedgerPath(path), history));
  const absl::optional<LedgerState> state = history.Find(
      config.views.front().path, [](const LedgerPass&) { return true; });
  if (!state) return absl::optional<EpochToken>();
  return WholeToken(token, *state);
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

absl::StatusOr<std::string> ReadWholeToken(const MountClient& mount) {
  absl::Status last = absl::UnavailableError(
      "the mount moves from epoch to epoch; save again when it reads one");
  std::string brief;  // "" if it would not do
  for (int tries = 0; tries < kTries; ++tries) {
    ASSIGN_OR_RETURN(const std::string line, mount.Read("token"));
    ASSIGN_OR_RETURN(const EpochToken token, ParseToken(line));
    if (IsWhole(token)) return line;
    brief = token.reactive() ? "" : line;
    const absl::StatusOr<absl::optional<EpochToken>> whole =
        FromLedger(mount, token);
    if (!whole.ok()) {
      last = whole.status();
      // Another epoch may have begun in between.
      if (absl::IsFailedPrecondition(last)) continue;
      break;
    }
    if (*whole) return TokenText(**whole);
  }
  if (!brief.empty()) return brief;
  return last;
}

}  // namespace shufflefs
