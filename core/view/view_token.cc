// SPDX-License-Identifier: Apache-2.0
// How a job takes a view's epoch along in its checkpoint, and goes on with it.
#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/view/view.h"

namespace shufflefs {
namespace {

// Of more samples than these a token does not say which were read: a bit each,
// in four thirds of the bytes, within the 64 KiB that any program writes at
// once.
constexpr uint64_t kMostRead = 1 << 18;
// Of more names than these not what they were bound to: some 6 bytes each.
constexpr uint64_t kMostBound = 1 << 13;

std::vector<CarriedPair> SortedPairs(std::vector<CarriedPair> pairs) {
  std::sort(pairs.begin(), pairs.end(),
            [](const CarriedPair& a, const CarriedPair& b) {
              return std::tie(a.name, a.sample) < std::tie(b.name, b.sample);
            });
  return pairs;
}

void AddReadTo(const Binding& binding, const std::vector<uint64_t>& names,
               EpochToken& token) {
  for (const uint64_t name : names) {
    token.read.push_back(binding.ShownSample(SampleId(name)).value());
  }
  std::sort(token.read.begin(), token.read.end());
}

void AddPairsTo(const BoundNames& bound_names, uint64_t names,
                const absl::flat_hash_set<uint64_t>& read, EpochToken& token) {
  for (uint64_t name = 0; name < names; ++name) {
    const absl::optional<SampleId> sample = bound_names.Bound(SampleId(name));
    if (!sample) continue;
    (read.contains(name) ? token.pairs->shown : token.pairs->bound)
        .push_back({name, sample->value()});
  }
}

}  // namespace

EpochToken View::Token() const {
  LedgerState state;
  const LedgerEpoch& begin = state.begin;
  EpochToken token;
  std::shared_ptr<const Binding> binding;
  std::vector<uint64_t> names;
  {
    MutexLock lock(mu_);
    binding = binding_;
    state.begin = LedgerRecord();
    token = TokenOf(state, TokenKeys(*setup_), absl::nullopt);
    token.position.reset();
    token.pairs.reset();
    if (begin.reactive) {
      token.position = shown_.count;
      *token.digest += shown_.sum;
    } else if (watch_ != nullptr) {
      token.position = watch_->consumed();
    }
    const bool brief = begin.names > (begin.reactive ? kMostBound : kMostRead);
    if (watch_ == nullptr || brief) return token;
    names = watch_->OpenedEver();
  }
  // Names that were read keep what they show as long as the epoch lasts.
  if (!begin.reactive) {
    AddReadTo(*binding, names, token);
    return token;
  }
  token.pairs.emplace();
  token.pairs->times = begin.served;
  AddPairsTo(*binding->bound_names(), begin.names, {names.begin(), names.end()},
             token);
  return token;
}

bool View::ShowsPairs(const EpochToken& token) const {
  const std::shared_ptr<BoundNames>& bound_names = binding_->bound_names();
  if (bound_names->Served() != token.pairs->times) return false;
  return std::all_of(token.pairs->shown.begin(), token.pairs->shown.end(),
                     [&](const CarriedPair& pair) {
                       return bound_names->Bound(SampleId(pair.name)) ==
                              SampleId(pair.sample);
                     });
}

bool View::IsLive(const EpochToken& token) const {
  if (absl::string_view(token.policy) != setup_->policy->name() ||
      token.keys != TokenKeys(*setup_) || token.seed != setup_->config.seed ||
      token.epoch != epoch_ || token.binding != binding_->epoch() ||
      token.identity != binding_->identity() ||
      token.reactive() != (binding_->bound_names() != nullptr)) {
    return false;
  }
  // Of what it has not seen read it knows nothing.
  const uint64_t position = token.position.value_or(0);
  if (token.reactive()) return position <= shown_.count && ShowsPairs(token);
  if (watch_ != nullptr && position > watch_->consumed()) return false;
  return SortedPairs(token.kept) == SortedPairs(binding_->carried().pairs());
}

absl::Status View::FindPairs(EpochToken& token) const {
  if (!token.reactive() || token.pairs) return absl::OkStatus();
  if (token.position == 0 && token.digest == uint64_t{0}) {
    token.pairs.emplace();  // nothing was read, ever
    return absl::OkStatus();
  }
  const auto fits = [&token](const LedgerPass& pass) {
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
  };
  const absl::optional<LedgerState> state =
      ledger_ == nullptr ? absl::nullopt
                         : ledger_->Find(setup()->config.path, fits);
  if (!state) {
    return TokenRefused(absl::StrCat(
        "what ", token.policy, " has shown in epoch ", token.epoch.value(),
        " is neither in this line nor in the mount's state; save it with "
        "`shufflectl token --save DIR` and bring it back with --restore DIR"));
  }
  token.pairs = TokenOf(*state, token.keys, token.position).pairs;
  return absl::OkStatus();
}

absl::StatusOr<bool> View::GoesOnWith(EpochToken& token) {
  if (token.fingerprint !=
      setup()->dataset->catalogue().samples_fingerprint()) {
    return TokenRefused("it was saved with another state of the dataset");
  }
  RETURN_IF_ERROR(FindPairs(token));
  MutexLock lock(mu_);
  if (!IsLive(token)) return false;
  if (watch_ != nullptr) watch_->ResumeHere();
  return true;
}

absl::Status View::Restore(Prepared prepared, const EpochToken& token) {
  const ViewSetup& wanted = *prepared.setup;
  if (TokenKeys(wanted) != token.keys) {
    return TokenRefused(
        "it was saved under other keys; mount with those that decide what "
        "names show (policy's, substitute, pair, groups, record) as they were");
  }
  const bool reactive = wanted.binds_on_demand() && !token.identity;
  if (token.reactive() != reactive) {
    return TokenRefused("names were bound in another way when it was saved");
  }
  ASSIGN_OR_RETURN(LedgerState state, StateOf(token, wanted));
  const bool repeats = state.begin.repeats;
  const absl::Status bound = (repeats ? CarriedNames::MakeRepeating(state.bound)
                                      : CarriedNames::Make(state.bound))
                                 .status();
  const absl::Status carried = CarriedNames::Make(token.kept).status();
  if (!bound.ok() || !carried.ok()) {
    return TokenRefused((bound.ok() ? carried : bound).message());
  }
  bool were_fixed = false;
  uint64_t begun = 0;
  {
    MutexLock lock(mu_);
    if (repeats && !state.begin.served.empty()) {
      const absl::Status taken = wanted.supply->TakeServed(state.begin.served);
      if (!taken.ok()) return TokenRefused(taken.message());
    }
    were_fixed = !setup_->rebinds();
    pending_ = nullptr;
    setup_ = std::move(prepared.setup);
    RestoreEpoch(state, token.position.value_or(0));
    begun = begun_;
  }
  TellKernel(were_fixed, begun);
  return absl::OkStatus();
}

void View::RestoreEpoch(LedgerState& state, uint64_t position) {
  CloseLookups();
  const LedgerEpoch& then = state.begin;
  absl::StatusOr<CarriedNames> carried = CarriedNames::Make(then.carried);
  Bind(then.binding, *std::move(carried), then.identity, state.bound);
  epoch_ = then.epoch;
  verdict_ = "signal";
  hold_reason_.clear();
  is_held_ = waiting_ = looked_ = false;
  read_ = ever_read_ = !counts_opens() || position > 0;
  noted_again_ = 0;
  ++begun_;
  shown_ = {};
  std::vector<uint64_t> names;
  const uint64_t unread = state.bound.size() - state.bound_consumed;
  for (uint64_t i = unread; i < state.bound.size(); ++i) {
    NoteShown(state.bound[i]);
    names.push_back(state.bound[i].name);
  }
  if (!then.reactive) {
    state.consumed.ForEach([&names, &binding = *binding_](uint64_t sample) {
      names.push_back(binding.NameOfSample(SampleId(sample)).value());
    });
  }
  const std::unique_ptr<EpochWatch> before = std::move(watch_);
  MakeWatch();
  if (watch_ != nullptr) {
    if (before != nullptr) watch_->TakeSentBack(*before);
    watch_->Resume(names,
                   position - std::min<uint64_t>(position, names.size()));
    watch_->ForgetLookups();
  }
  state.begin.view = static_cast<uint8_t>(id_);
  if (ledger_ != nullptr) Note(ledger_->Adopt(state));
  Publish();
}

}  // namespace shufflefs
