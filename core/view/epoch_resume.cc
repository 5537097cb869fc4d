// SPDX-License-Identifier: Apache-2.0
// The part of EpochController that goes on with an epoch which it did not begin
// by itself: from the ledger after a restart, from the token that a job saved,
// or from the group of several nodes.
#include <algorithm>
#include <utility>

#include "core/base/log.h"
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

EpochOutcome HeldByPeers() {
  EpochOutcome outcome;
  outcome.verdict = Verdict::kHold;
  outcome.rule = 'a';
  outcome.reason = HoldReason::kPeers;
  return outcome;
}

// The names of `binding` whose samples were read.
std::vector<uint64_t> NamesRead(const LedgerState& state,
                                const Binding& binding) {
  std::vector<uint64_t> names;
  const uint64_t unread = state.bound.size() - state.bound_consumed;
  for (uint64_t i = unread; i < state.bound.size(); ++i) {
    names.push_back(state.bound[i].name);
  }
  if (state.begin.reactive) return names;
  state.consumed.ForEach([&](uint64_t sample) {
    names.push_back(binding.NameOfSample(SampleId(sample)).value());
  });
  return names;
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
  saved.begin = Record();
  EpochToken& token = saved.token;
  token = HeadOf(saved.begin, TokenKeys(*setup_));
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

bool EpochController::IsLive(const EpochToken& token) const {
  if (token.epoch != epoch_ || !BindsAs(token, *setup_, *binding_)) {
    return false;
  }
  // The live epoch cannot be the token's if the token says more was read than
  // was seen here.
  const uint64_t position = token.position.value_or(0);
  if (token.reactive()) return position <= journal_.shown().count;
  return tracker_ == nullptr || position <= tracker_->consumed();
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
  const std::vector<uint64_t> names = NamesRead(state, *binding_);
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

EpochController::Effects EpochController::CountForGroup(
    SampleId name, uint32_t reader, std::chrono::milliseconds now) {
  const GroupId group = setup_->dataset->grouping().group_of(name);
  if (tracker_->NoteOpen({name, group, reader, now}).fresh) {
    journal_.Consumed(*binding_, name);
  }
  const JobSequence::Place job =
      jobs_.Note(job_tracker_->Resolve(reader, now),
                 [&](JobId owner) { return job_tracker_->Alive(owner, now); });
  group_->Opened({name.value(), reader, job.number, job.foreign});
  return {};
}

GroupedView::State EpochController::GroupState() const {
  return {.epoch = epoch_.value(),
          .shown = binding_->epoch().value(),
          .binding = binding_hash_,
          .wanted = HashOfKeys(wanted_setup()),
          .keys = HashOfKeys(*setup_)};
}

std::vector<GroupedView::Pair> EpochController::CarriedPairs() const {
  std::vector<GroupedView::Pair> pairs;
  for (const CarriedPair& pair : binding_->carried().pairs()) {
    pairs.push_back({pair.name, pair.sample});
  }
  return pairs;
}

std::vector<uint64_t> EpochController::OpenedHere() const {
  return tracker_ != nullptr ? tracker_->OpenedBefore()
                             : std::vector<uint64_t>();
}

std::vector<uint64_t> EpochController::CloseForGroup() {
  closed_ = true;
  live_->Close();
  std::vector<uint64_t> names;
  if (tracker_ == nullptr) return names;
  for (const SampleId sample : tracker_->TakeUnderWay()) {
    names.push_back(binding_->NameOfSample(sample).value());
  }
  return names;
}

void EpochController::ReopenForGroup() {
  if (std::exchange(closed_, false)) live_->Reopen();
}

EpochController::Effects EpochController::BeginForGroup(
    const GroupedView::Next& next) {
  const uint64_t names = setup_->dataset->grouping().sample_count();
  const auto is_none = [names](uint64_t name) { return name >= names; };
  Boundary boundary{Epoch(next.epoch), {}, next.reason, next.opened};
  std::vector<uint64_t> carried = next.carried;
  std::erase_if(carried, is_none);
  std::erase_if(boundary.opened, is_none);
  boundary.carried = ShownPairsOf(*binding_, std::move(carried));
  const bool was_opened = !boundary.opened.empty();
  closed_ = false;
  Begin(std::move(boundary));
  if (was_opened) live_->NoteOpen();
  return {.begun = notifier_->begun()};
}

EpochController::Effects EpochController::AdoptForGroup(
    const GroupedView::State& state,
    const std::vector<GroupedView::Pair>& carried) {
  Boundary boundary{Epoch(state.shown), {}, "peers"};
  for (const GroupedView::Pair& pair : carried) {
    boundary.carried.push_back({pair.name, pair.sample});
  }
  if (!AllFit(boundary.carried, setup_->dataset->grouping())) {
    Log(LogLevel::kError, "peers: another node told of a pair that cannot be");
    ReopenForGroup();
    return {};
  }
  closed_ = false;
  Begin(std::move(boundary));
  if (state.epoch != state.shown) {
    HoldForGroup({state.epoch, "peers", {}, {}});
  }
  return {.begun = notifier_->begun()};
}

EpochController::Effects EpochController::HoldForGroup(
    const GroupedView::Next& next) {
  ReopenForGroup();
  if (tracker_ != nullptr) tracker_->BeginPass(next.opened);
  HoldAs({Epoch(next.epoch), {}, "peers"}, next.reason, HeldByPeers());
  return {.settled = tracker_ != nullptr && tracker_->HideWalks()};
}

EpochController::Effects EpochController::ShowWalksForGroup() {
  if (tracker_ == nullptr || tracker_->shows_walks()) return {};
  tracker_->ShowWalks();
  return {.doubted = true};
}

}  // namespace shufflefs
