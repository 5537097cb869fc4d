// SPDX-License-Identifier: Apache-2.0
#include "core/view/epochs_in_group.h"

#include <utility>

#include "core/base/log.h"
#include "core/view/epoch_token.h"
#include "core/view/opens_seen.h"

namespace shufflefs {
namespace {

std::vector<GroupedView::Pair> PairsOf(const std::vector<NameBinding>& pairs) {
  std::vector<GroupedView::Pair> result;
  for (const NameBinding& pair : pairs) {
    result.push_back({pair.name, pair.sample});
  }
  return result;
}

std::vector<NameBinding> PairsOf(const std::vector<GroupedView::Pair>& pairs) {
  std::vector<NameBinding> result;
  for (const GroupedView::Pair& pair : pairs) {
    result.push_back({pair.name, pair.sample});
  }
  return result;
}

EpochBoundary BoundaryOf(const GroupedView::Next& next, const ViewSetup& setup,
                         const Binding& binding) {
  const Grouping& grouping = setup.dataset->grouping();
  const auto is_none = [&](uint64_t name) {
    return name >= grouping.sample_count();
  };
  EpochBoundary boundary{Epoch(next.epoch), {}, next.reason, next.opened};
  std::vector<uint64_t> retained = next.retained;
  std::erase_if(retained, is_none);
  std::erase_if(boundary.opened, is_none);
  if (setup.shared == nullptr) {
    boundary.retained = ShownPairsOf(binding, std::move(retained));
  } else {
    boundary.retained = PairsOf(next.pairs);
    if (!AllFit(boundary.retained, grouping)) boundary.retained.clear();
  }
  boundary.members = next.members;
  boundary.self = next.self;
  return boundary;
}

std::vector<NameBinding> ToldOf(const GroupedView::Retained& retained,
                                const ViewSetup& setup) {
  std::vector<NameBinding> told = PairsOf(retained.told);
  if (!AllFit(told, setup.dataset->grouping())) told.clear();
  return told;
}

EpochBoundary BoundaryOf(const GroupedView::State& state,
                         const GroupedView::Retained& retained,
                         const ViewSetup& setup) {
  EpochBoundary boundary{Epoch(state.shown), PairsOf(retained.pairs), "peers"};
  boundary.members = retained.members;
  boundary.self = retained.self;
  boundary.told = ToldOf(retained, setup);
  return boundary;
}

// Returns whether the live epoch is the one that others share.
bool CanJoin(const EpochBoundary& boundary, const ViewSetup& setup,
             const Binding& binding) {
  return setup.shared != nullptr && !boundary.members.empty() &&
         binding.bound_names() != nullptr && binding.epoch() == boundary.epoch;
}

GroupedView::Names NamesOf(const ViewSetup& setup, const NameSharing& sharing) {
  using Names = GroupedView::Names;
  if (setup.shared == nullptr) return Names::kPlanned;
  return sharing.members.empty() ? Names::kOwn : Names::kShared;
}

std::vector<GroupedView::Pair> PairsUnderWay(OpenTracker& tracker,
                                             const Binding& binding) {
  std::vector<GroupedView::Pair> pairs;
  for (const SampleId sample : tracker.TakeUnderWay()) {
    pairs.push_back({binding.NameOfSample(sample).value(), sample.value()});
  }
  return pairs;
}

EpochOutcome HeldByPeers() {
  EpochOutcome outcome;
  outcome.verdict = Verdict::kHold;
  outcome.rule = 'a';
  outcome.reason = HoldReason::kPeers;
  return outcome;
}

}  // namespace

bool EpochsInGroup::IsGrouped() const {
  return parts_.controller->Get(
      [](const EpochController& epochs) { return epochs.grouped(); });
}

OpenTracker::Options EpochsInGroup::GroupOptions() const {
  OpenTracker::Options options =
      TrackerOptions(*parts_.live->Get()->setup, /*grouped=*/false);
  options.finds_epochs = options.finds_epochs && parts_.sees_opens;
  return options;
}

GroupedView::State EpochsInGroup::GroupState() const {
  return parts_.controller->Get(
      [this](const EpochController& epochs) { return StateOf(epochs); });
}

GroupedView::State EpochsInGroup::StateOf(const EpochController& epochs) const {
  const ViewSetup& setup = epochs.setup();
  State state{.epoch = epochs.epoch().value(),
              .shown = epochs.binding().epoch().value(),
              .binding = epochs.binding_hash(),
              .wanted = HashOfKeys(epochs.wanted_setup()),
              .keys = HashOfKeys(setup)};
  state.names = NamesOf(setup, epochs.sharing());
  if (setup.shared == nullptr) {
    state.fresh =
        epochs.tracker() == nullptr || epochs.tracker()->consumed() == 0;
  } else {
    state.fresh = parts_.live->is_fresh() && setup.shared->is_fresh();
  }
  return state;
}

GroupedView::Retained EpochsInGroup::RetainedNow() const {
  return parts_.controller->Get([](const EpochController& epochs) {
    return Retained{.pairs = PairsOf(epochs.binding().retained().pairs()),
                    .members = epochs.sharing().members};
  });
}

std::vector<GroupedView::Pair> EpochsInGroup::KnownOf(
    const std::string& member) const {
  return parts_.controller->Get([&member](const EpochController& epochs) {
    return epochs.setup().shared == nullptr
               ? std::vector<Pair>()
               : PairsOf(epochs.setup().shared->KnownOf(member));
  });
}

std::vector<GroupedView::Pair> EpochsInGroup::OpenedHere() const {
  return parts_.controller->Get([](const EpochController& epochs) {
    return epochs.tracker() == nullptr
               ? std::vector<Pair>()
               : PairsOf(ShownPairsOf(epochs.binding(),
                                      epochs.tracker()->OpenedBefore()));
  });
}

std::vector<GroupedView::Pair> EpochsInGroup::CloseEpoch() {
  std::vector<Pair> under_way;
  parts_.controller->Run([&under_way](EpochController& epochs) {
    epochs.Close();
    if (epochs.tracker() != nullptr) {
      under_way = PairsUnderWay(*epochs.tracker(), epochs.binding());
    }
    return Effects();
  });
  return under_way;
}

void EpochsInGroup::ReopenEpoch() {
  parts_.controller->Run([](EpochController& epochs) {
    epochs.Reopen();
    return Effects();
  });
}

void EpochsInGroup::BeginEpoch(const Next& next) {
  parts_.controller->Run([&next](EpochController& epochs) {
    return epochs.BeginEpoch(
        BoundaryOf(next, epochs.setup(), epochs.binding()));
  });
}

void EpochsInGroup::AdoptEpoch(const State& state, const Retained& retained) {
  parts_.controller->Run(
      [&](EpochController& epochs) { return Adopt(state, retained, epochs); });
}

EpochController::Effects EpochsInGroup::Adopt(const State& state,
                                              const Retained& retained,
                                              EpochController& epochs) {
  EpochBoundary boundary = BoundaryOf(state, retained, epochs.setup());
  if (!AllFit(boundary.retained, epochs.setup().dataset->grouping())) {
    Log(LogLevel::kError, "peers: another node told of a pair that cannot be");
    epochs.Reopen();
    return {};
  }
  const bool knew_none = epochs.sharing().members.empty();
  const bool joins =
      knew_none && CanJoin(boundary, epochs.setup(), epochs.binding());
  const Effects effects = joins ? epochs.JoinSharing(boundary)
                                : epochs.BeginEpoch(std::move(boundary));
  // No other node knows what the node's own readers were shown.
  const bool knows_all = epochs.from_ledger() && retained.told_all;
  if (knew_none && epochs.setup().shared != nullptr && !knows_all) {
    epochs.setup().shared->NoteEarlierRun();
  }
  if (state.epoch != epochs.epoch().value()) {
    Hold({.epoch = state.epoch, .reason = "peers"}, epochs);
  }
  return effects;
}

void EpochsInGroup::HoldEpoch(const Next& next) {
  parts_.controller->Run(
      [&next](EpochController& epochs) { return Hold(next, epochs); });
}

EpochController::Effects EpochsInGroup::Hold(const Next& next,
                                             EpochController& epochs) {
  epochs.Reopen();
  if (epochs.tracker() != nullptr) epochs.tracker()->BeginPass(next.opened);
  epochs.HoldAs({Epoch(next.epoch), {}, "peers"}, next.reason, HeldByPeers());
  return {.committed =
              epochs.tracker() != nullptr && epochs.tracker()->HideWalks()};
}

void EpochsInGroup::ShowWalks() {
  parts_.controller->Run([](EpochController& epochs) {
    OpenTracker* const tracker = epochs.tracker();
    if (tracker == nullptr || tracker->shows_walks()) return Effects();
    tracker->ShowWalks();
    return Effects{.doubted = true};
  });
}

}  // namespace shufflefs
