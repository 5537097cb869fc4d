// SPDX-License-Identifier: Apache-2.0
// The part of EpochController that continues an epoch: from the ledger after a
// restart, or from the token that a job saved.
#include <algorithm>
#include <tuple>
#include <utility>

#include "core/view/epoch_controller.h"

namespace shufflefs {
namespace {

using MakeCarried =
    absl::StatusOr<CarriedNames> (*)(std::vector<CarriedPair> pairs);

// A token for more samples than this does not say which were read. It takes a
// bit per sample, in four thirds of the bytes. This stays within the 64 KiB
// that any program writes at once.
constexpr uint64_t kMostRead = 1 << 18;
// A token for more names than this does not say what they were bound to. Each
// name takes about 6 bytes.
constexpr uint64_t kMostBound = 1 << 13;

std::vector<CarriedPair> SortedPairs(std::vector<CarriedPair> pairs) {
  std::sort(pairs.begin(), pairs.end(),
            [](const CarriedPair& a, const CarriedPair& b) {
              return std::tie(a.name, a.sample) < std::tie(b.name, b.sample);
            });
  return pairs;
}

// Returns whether `setup` would bind the same names to the same samples.
bool Fits(const LedgerEpoch& then, const ViewSetup& setup) {
  return then.fingerprint == setup.dataset->catalogue().samples_fingerprint() &&
         then.names == setup.dataset->grouping().sample_count() &&
         then.seed == setup.config.seed &&
         absl::string_view(then.policy) == setup.policy->name() &&
         then.options_hash == setup.options_hash &&
         then.substitute == setup.config.substitute &&
         then.reactive == (setup.binds_on_demand() && !then.identity);
}

}  // namespace

bool EpochController::Resume(LedgerState& last) {
  journal_.TakeServed(*setup_, last, /*ended=*/false);
  if (GoOn(last)) return true;
  journal_.TakeServed(*setup_, last, /*ended=*/true);
  return false;
}

bool EpochController::GoOn(LedgerState& last) {
  const LedgerEpoch& then = last.begin;
  if (!Fits(then, *setup_)) return false;
  const auto make = then.repeats ? CarriedNames::MakeRepeating
                                 : static_cast<MakeCarried>(CarriedNames::Make);
  absl::StatusOr<CarriedNames> carried = make(then.carried);
  if (!carried.ok() || !make(last.bound).ok()) return false;
  Bind({then.binding, *std::move(carried), then.identity, last.bound});
  epoch_ = then.epoch;
  waiting_ = false;
  // Without opens it is not known whether something was read. If in doubt, it
  // was, and a switch waits for the boundary.
  live_->Resume(!counts_opens() || last.consumed.size() > 0);
  MakeWatch();
  if (tracker_ != nullptr) {
    tracker_->Restore(journal_.PastOf(last, *binding_));
    tracker_->ContinueOther();
  }
  // It was killed while opens were reported to it.
  if (last.recent.untold >= kMaxLedgerNames) reported_.Lose();
  journal_.Continue(last, *binding_);
  Publish();
  return true;
}

EpochController::Saved EpochController::Save() const {
  Saved saved;
  saved.binding = binding_;
  LedgerState state;
  state.begin = Record();
  EpochToken& token = saved.token;
  token = TokenOf(state, TokenKeys(*setup_), absl::nullopt);
  token.position.reset();
  token.pairs.reset();
  saved.begin = std::move(state.begin);
  const bool reactive = saved.begin.reactive;
  if (reactive) {
    token.position = journal_.shown().count;
    *token.digest += journal_.shown().sum;
  } else if (tracker_ != nullptr) {
    token.position = tracker_->consumed();
  }
  const bool brief = saved.begin.names > (reactive ? kMostBound : kMostRead);
  if (tracker_ != nullptr && !brief) saved.opened = tracker_->OpenedEver();
  return saved;
}

bool EpochController::ShowsPairs(const EpochToken& token) const {
  const std::shared_ptr<BoundNames>& bound_names = binding_->bound_names();
  if (bound_names->Served() != token.pairs->times) return false;
  return std::all_of(token.pairs->shown.begin(), token.pairs->shown.end(),
                     [&](const CarriedPair& pair) {
                       return bound_names->Bound(SampleId(pair.name)) ==
                              SampleId(pair.sample);
                     });
}

bool EpochController::IsLive(const EpochToken& token) const {
  if (absl::string_view(token.policy) != setup_->policy->name() ||
      token.keys != TokenKeys(*setup_) || token.seed != setup_->config.seed ||
      token.epoch != epoch_ || token.binding != binding_->epoch() ||
      token.identity != binding_->identity() ||
      token.reactive() != (binding_->bound_names() != nullptr)) {
    return false;
  }
  // The live epoch cannot be the token's if the token says more was read than
  // was seen here.
  const uint64_t position = token.position.value_or(0);
  if (token.reactive()) {
    return position <= journal_.shown().count && ShowsPairs(token);
  }
  if (tracker_ != nullptr && position > tracker_->consumed()) return false;
  return SortedPairs(token.kept) == SortedPairs(binding_->carried().pairs());
}

bool EpochController::GoesOnWith(const EpochToken& token) {
  if (!IsLive(token)) return false;
  if (tracker_ != nullptr) tracker_->ResumeHere();
  return true;
}

absl::StatusOr<EpochController::Effects> EpochController::Restore(
    std::shared_ptr<const ViewSetup> setup, LedgerState& state,
    uint64_t position) {
  const LedgerEpoch& then = state.begin;
  if (then.repeats && !then.served.empty()) {
    const absl::Status taken = setup->supply->sets().TakeServed(then.served);
    if (!taken.ok()) return TokenRefused(taken.message());
  }
  absl::StatusOr<CarriedNames> carried = CarriedNames::Make(then.carried);
  if (!carried.ok()) return TokenRefused(carried.status().message());
  live_->Close();
  const bool were_fixed = !setup_->rebinds();
  pending_ = nullptr;
  setup_ = std::move(setup);
  Bind({then.binding, *std::move(carried), then.identity, state.bound});
  epoch_ = then.epoch;
  verdict_ = "signal";
  hold_reason_.clear();
  is_held_ = waiting_ = false;
  live_->Forget();
  live_->Resume(!counts_opens() || position > 0);
  notifier_->Begin();
  std::vector<uint64_t> names;
  const uint64_t unread = state.bound.size() - state.bound_consumed;
  for (uint64_t i = unread; i < state.bound.size(); ++i) {
    names.push_back(state.bound[i].name);
  }
  if (!then.reactive) {
    state.consumed.ForEach([&names, &binding = *binding_](uint64_t sample) {
      names.push_back(binding.NameOfSample(SampleId(sample)).value());
    });
  }
  const std::unique_ptr<OpenTracker> before = std::move(tracker_);
  MakeWatch();
  if (tracker_ != nullptr) {
    if (before != nullptr) tracker_->TakeSentBack(*before);
    tracker_->Resume(names,
                     position - std::min<uint64_t>(position, names.size()));
    tracker_->ForgetLookups();
  }
  journal_.Adopt(state, *binding_);
  Publish();
  return Effects{.begun = notifier_->begun(), .were_fixed = were_fixed};
}

}  // namespace shufflefs
