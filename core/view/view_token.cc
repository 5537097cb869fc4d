// SPDX-License-Identifier: Apache-2.0
// The part of View that lets a job save an epoch in its checkpoint and continue
// with it.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/view/view.h"

namespace shufflefs {
namespace {

void AddReadTo(const Binding& binding, const std::vector<uint64_t>& names,
               EpochToken& token) {
  for (const uint64_t name : names) {
    token.read.push_back(binding.ShownSample(SampleId(name)).value());
  }
  std::sort(token.read.begin(), token.read.end());
}

void AddPairsTo(const BoundNames& bound_names, uint64_t names,
                const absl::flat_hash_set<uint64_t>& read, EpochToken& token) {
  for (const CarriedPair& pair : BoundPairs(bound_names, names, names)) {
    (read.contains(pair.name) ? token.pairs->shown : token.pairs->bound)
        .push_back(pair);
  }
}

// Returns whether `pass` is the token's epoch and was read at least as far.
bool IsOf(const EpochToken& token, const LedgerPass& pass) {
  const LedgerEpoch& then = pass.begin;
  if (then.epoch != token.epoch || then.binding != token.binding ||
      then.seed != token.seed || then.policy != token.policy ||
      then.fingerprint != token.fingerprint ||
      pass.shown.size() < token.position.value_or(0)) {
    return false;
  }
  ShownPairs shown;
  shown.sum = TimesDigest(then.served);
  while (shown.count < *token.position) shown.Add(pass.shown[shown.count]);
  return shown.sum == *token.digest;
}

// Takes the pairs from the ledger if the token does not have them.
absl::Status FindPairs(Ledger* ledger, const std::string& path,
                       EpochToken& token) {
  if (!token.reactive() || token.pairs) return absl::OkStatus();
  if (token.position == 0 && token.digest == uint64_t{0}) {
    token.pairs.emplace();  // nothing was ever read
    return absl::OkStatus();
  }
  const auto fits = [&token](const LedgerPass& pass) {
    return IsOf(token, pass);
  };
  const absl::optional<LedgerState> state =
      ledger == nullptr ? absl::nullopt : ledger->Find(path, fits);
  if (!state) {
    return TokenRefused(absl::StrCat(
        "what ", token.policy, " has shown in epoch ", token.epoch.value(),
        " is neither in this line nor in the mount's state; save it with "
        "`shufflectl token --save DIR` and bring it back with --restore DIR"));
  }
  token.pairs = TokenOf(*state, token.keys, token.position).pairs;
  return absl::OkStatus();
}

}  // namespace

EpochToken View::Token() const {
  EpochController::Saved saved;
  {
    MutexLock lock(mu_);
    saved = controller_.Save();
  }
  EpochToken token = std::move(saved.token);
  if (saved.whole) token.whole = WholeOf(*saved.whole, *saved.setup);
  if (!saved.opened) return token;
  const std::vector<uint64_t>& names = *saved.opened;
  // Names that were read keep their sample for the rest of the epoch.
  if (!saved.begin.reactive) {
    AddReadTo(*saved.binding, names, token);
    return token;
  }
  token.pairs.emplace();
  token.pairs->times = saved.begin.served;
  AddPairsTo(*saved.binding->bound_names(), saved.begin.names,
             {names.begin(), names.end()}, token);
  return token;
}

absl::StatusOr<bool> View::GoesOnWith(EpochToken& token) {
  const std::shared_ptr<const ViewSetup> now = setup();
  if (token.fingerprint != now->dataset->catalogue().samples_fingerprint()) {
    return TokenRefused("the dataset has changed since it was saved");
  }
  RETURN_IF_ERROR(FindPairs(ledger_, now->config.path, token));
  WholeFiles whole = WholeFilesOf(token, *now);
  MutexLock lock(mu_);
  return controller_.GoesOnWith(token, std::move(whole));
}

absl::Status View::Restore(Prepared prepared, const EpochToken& token) {
  const ViewSetup& wanted = *prepared.setup;
  if (TokenKeys(wanted) != token.keys) {
    return TokenRefused(
        "it was saved under other keys; mount with those that decide what "
        "names show (policy's, substitute, pair, groups, record, "
        "tier.capacity) as they were");
  }
  const bool reactive = wanted.binds_on_demand() && !token.identity;
  if (token.reactive() != reactive) {
    return TokenRefused(
        "names were bound in a different way when it was saved");
  }
  ASSIGN_OR_RETURN(LedgerState state, StateOf(token, wanted));
  const absl::Status bound =
      (state.begin.repeats ? CarriedNames::MakeRepeating(state.bound)
                           : CarriedNames::Make(state.bound))
          .status();
  if (!bound.ok()) return TokenRefused(bound.message());
  EpochController::Effects effects;
  {
    MutexLock lock(mu_);
    ASSIGN_OR_RETURN(effects,
                     controller_.Restore(std::move(prepared.setup), state,
                                         token.position.value_or(0)));
  }
  Tell(effects);
  return absl::OkStatus();
}

}  // namespace shufflefs
