// SPDX-License-Identifier: Apache-2.0
// The part of EpochController that goes on with an epoch which it did not begin
// by itself: from the ledger after a restart, from the token that a job saved,
// or from the group of several nodes. Also the part for listings.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
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
bool Fits(const LedgerState& last, const ViewSetup& setup) {
  const LedgerEpoch& then = last.begin;
  const Grouping& grouping = setup.dataset->grouping();
  return then.fingerprint == setup.dataset->catalogue().samples_fingerprint() &&
         then.names == grouping.sample_count() &&
         then.seed == setup.config.seed &&
         absl::string_view(then.policy) == setup.policy->name() &&
         then.options_hash == setup.options_hash &&
         then.substitute == setup.config.substitute &&
         then.reactive == (setup.binds_on_demand() && !then.identity) &&
         AllFit(then.carried, grouping) && AllFit(last.bound, grouping);
}

// `records` may be null.
void RestoreContainers(LedgerState& state, RecordEpoch* records) {
  if (records == nullptr) return;
  const std::vector<EntryId> whole(state.containers.begin(),
                                   state.containers.end());
  records->Restore(whole);
  state.begin.by_hand = records->by_hand();
}

// Before records are bound, so that they need not tell the ledger.
void NoteByHand(uint32_t why, const ViewSetup& setup) {
  if (setup.records.containers != nullptr) {
    setup.records.containers->NoteByHand(why);
  }
}

// Returns whether passes over containers begin epochs, and what was read of
// them is known. `records` may be null.
bool PassesAreKnown(const ViewSetup& setup, const RecordEpoch* records) {
  return records != nullptr && PassesOfRecordsCount(setup) &&
         records->read_before() != ReadBefore::kUnknown;
}

WholeFiles WholeFilesNow(const ViewSetup& setup, const RecordEpoch* records) {
  if (!PassesAreKnown(setup, records)) return absl::nullopt;
  return records->WholeFiles();
}

// The token of an epoch that began so, without single samples. `tracker` may be
// null.
EpochToken TokenNow(const LedgerEpoch& begin, const ViewSetup& setup,
                    const EpochJournal& journal, const OpenTracker* tracker) {
  EpochToken token = HeadOf(begin, TokenKeys(setup));
  if (begin.reactive) {
    token.position = journal.shown().count;
    *token.digest += journal.shown().sum;
  } else if (tracker != nullptr) {
    token.position = tracker->consumed();
  }
  return token;
}

// The names that were opened, unless there are too many for a token. `tracker`
// may be null.
absl::optional<std::vector<uint64_t>> OpenedOf(const LedgerEpoch& begin,
                                               const OpenTracker* tracker) {
  const bool brief = begin.names > (begin.reactive ? kMostBound : kMostRead);
  if (tracker == nullptr || brief) return absl::nullopt;
  return tracker->OpenedEver();
}

// The part of EpochController::GoesOnWith for containers. `records` may be
// null.
void GoOnWithRecords(const EpochToken& token, WholeFiles whole,
                     const ViewSetup& setup, RecordEpoch* records) {
  if (records == nullptr) return;
  NoteByHand(token.by_hand, setup);
  records->TellByHand();
  if (!PassesAreKnown(setup, records)) return;
  if (!whole) {
    // It is of an earlier version. If readers were ahead of the job, they read
    // the same once more.
    if (!records->WasReadToItsEnd()) return;
    whole.emplace();
  }
  records->GoOnFrom(*whole);
}

std::vector<GroupedView::Pair> PairsOf(const std::vector<CarriedPair>& pairs) {
  std::vector<GroupedView::Pair> result;
  for (const CarriedPair& pair : pairs) {
    result.push_back({pair.name, pair.sample});
  }
  return result;
}

std::vector<CarriedPair> PairsOf(const std::vector<GroupedView::Pair>& pairs) {
  std::vector<CarriedPair> result;
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
  std::vector<uint64_t> carried = next.carried;
  std::erase_if(carried, is_none);
  std::erase_if(boundary.opened, is_none);
  if (setup.shared == nullptr) {
    boundary.carried = ShownPairsOf(binding, std::move(carried));
  } else {
    boundary.carried = PairsOf(next.pairs);
    if (!AllFit(boundary.carried, grouping)) boundary.carried.clear();
  }
  boundary.members = next.members;
  boundary.self = next.self;
  return boundary;
}

std::vector<CarriedPair> ToldOf(const GroupedView::Carried& carried,
                                const ViewSetup& setup) {
  std::vector<CarriedPair> told = PairsOf(carried.told);
  if (!AllFit(told, setup.dataset->grouping())) told.clear();
  return told;
}

EpochBoundary BoundaryOf(const GroupedView::State& state,
                         const GroupedView::Carried& carried,
                         const ViewSetup& setup) {
  EpochBoundary boundary{Epoch(state.shown), PairsOf(carried.pairs), "peers"};
  boundary.members = carried.members;
  boundary.self = carried.self;
  boundary.told = ToldOf(carried, setup);
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

EpochGroup::Open OpenOf(const ViewSetup& setup, const Binding& binding,
                        SampleId name, uint32_t reader,
                        const JobSequence::Place& job) {
  EpochGroup::Open open;
  open.name = name.value();
  if (setup.shared != nullptr) open.sample = binding.ShownSample(name).value();
  open.reader = reader;
  open.job = job.number;
  open.foreign = job.foreign;
  return open;
}

// The live epoch cannot be the token's if the token says more was read than
// was seen here.
bool ReadMore(const EpochToken& token, const EpochJournal& journal,
              const OpenTracker* tracker) {
  const uint64_t position = token.position.value_or(0);
  if (token.reactive()) return position > journal.shown().count;
  return tracker != nullptr && position > tracker->consumed();
}

// `position`: how many names were read; of these, `names` are known.
void GoOnFrom(const std::vector<uint64_t>& names, uint64_t position,
              OpenTracker* before, OpenTracker& tracker) {
  if (before != nullptr) tracker.TakeSentBack(*before);
  tracker.Resume(names, position - std::min<uint64_t>(position, names.size()));
  tracker.ForgetLookups();
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
  for (const CarriedPair& pair : state.bound_and_consumed()) {
    names.push_back(pair.name);
  }
  if (state.begin.reactive) return names;
  state.consumed.ForEach([&](uint64_t sample) {
    names.push_back(binding.NameOfSample(SampleId(sample)).value());
  });
  return names;
}

}  // namespace

NameSharing SharingOf(const ViewSetup& setup, const EpochBoundary& boundary,
                      Epoch epoch) {
  NameSharing sharing;
  if (setup.shared == nullptr) return sharing;
  sharing.members = boundary.members;
  sharing.self = boundary.self;
  sharing.known = boundary.carried;
  sharing.binding = HashOfSharing(setup, epoch, sharing);
  return sharing;
}

std::vector<CarriedPair> BoundFrom(const EpochBoundary& boundary,
                                   const NameSharing& sharing) {
  if (sharing.members.empty() || boundary.told.empty()) {
    return boundary.carried;
  }
  return FirstOfNames(boundary.carried, boundary.told, {});
}

bool EpochController::Resume(LedgerState& last) {
  journal_.TakeServed(*setup_, last, /*ended=*/false);
  if (GoOn(last)) return true;
  journal_.TakeServed(*setup_, last, /*ended=*/true);
  return false;
}

bool EpochController::GoOn(LedgerState& last) {
  const LedgerEpoch& then = last.begin;
  if (!Fits(last, *setup_)) return false;
  const auto make = then.repeats ? CarriedNames::MakeRepeating
                                 : static_cast<MakeCarried>(CarriedNames::Make);
  absl::StatusOr<CarriedNames> carried = make(then.carried);
  if (!carried.ok() || !make(last.bound).ok()) return false;
  waiting_ = then.read_before;
  NoteByHand(then.by_hand, *setup_);
  Bind({then.binding, *std::move(carried), then.identity, last.bound});
  RestoreContainers(last, records_.get());
  sharing_ = SharingOf(*setup_, {}, then.binding);
  guard_.GoOn(then, *setup_);
  epoch_ = then.epoch;
  from_ledger_ = true;
  // Without opens it is not known whether something was read. If in doubt, it
  // was, and a switch waits for the boundary.
  live_->Resume(!counts_opens() || last.consumed.size() > 0);
  MakeWatch();
  if (tracker_ != nullptr) tracker_->GoOn(journal_.PastOf(last, *binding_));
  // It was killed while opens were reported to it, or after a job resumed.
  if (last.recent.untold >= kMaxLedgerNames) reported_.Lose();
  journal_.Continue(last, *binding_);
  Publish();
  return true;
}

EpochController::Saved EpochController::Save() const {
  Saved saved;
  saved.setup = setup_;
  saved.binding = binding_;
  saved.begin = Record();
  saved.token = TokenNow(saved.begin, *setup_, journal_, tracker_.get());
  saved.whole = WholeFilesNow(*setup_, records_.get());
  saved.opened = OpenedOf(saved.begin, tracker_.get());
  return saved;
}

bool EpochController::GoesOnWith(const EpochToken& token, WholeFiles whole) {
  if (token.epoch != epoch_ ||
      !BindsAs(token, *setup_, *binding_, records_.get()) ||
      ReadMore(token, journal_, tracker_.get())) {
    return false;
  }
  if (tracker_ != nullptr) {
    const std::vector<uint64_t> names = NamesReadOf(token, *setup_, *binding_);
    tracker_->ResumeHere(names, token.position);
  }
  journal_.Resumed(tracker_.get());
  GoOnWithRecords(token, std::move(whole), *setup_, records_.get());
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
  if (!then.repeats) journal_.KeepServed(*setup_, *setup);
  setup_ = std::move(setup);
  waiting_ = then.read_before;
  NoteByHand(then.by_hand, *setup_);
  Bind({then.binding, *std::move(carried), then.identity, state.bound});
  sharing_ = SharingOf(*setup_, {}, then.binding);
  epoch_ = then.epoch;
  from_ledger_ = false;
  verdict_ = "signal";
  hold_reason_.clear();
  is_held_ = false;
  live_->Forget();
  live_->Resume(!counts_opens() || position > 0);
  notifier_->Begin();
  const std::vector<uint64_t> names = NamesRead(state, *binding_);
  const std::unique_ptr<OpenTracker> before = std::move(tracker_);
  MakeWatch();
  if (tracker_ != nullptr) GoOnFrom(names, position, before.get(), *tracker_);
  RestoreContainers(state, records_.get());
  journal_.Adopt(state, *binding_);
  journal_.Resumed(tracker_.get());
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
  group_->Opened(OpenOf(*setup_, *binding_, name, reader, job));
  return {};
}

GroupedView::State EpochController::GroupState() const {
  GroupedView::State state{.epoch = epoch_.value(),
                           .shown = binding_->epoch().value(),
                           .binding = binding_hash_,
                           .wanted = HashOfKeys(wanted_setup()),
                           .keys = HashOfKeys(*setup_)};
  state.names = NamesOf(*setup_, sharing_);
  if (setup_->shared == nullptr) {
    state.fresh = tracker_ == nullptr || tracker_->consumed() == 0;
  } else {
    state.fresh = live_->is_fresh() && setup_->shared->is_fresh();
  }
  return state;
}

GroupedView::Carried EpochController::CarriedNow() const {
  return {.pairs = PairsOf(binding_->carried().pairs()),
          .members = sharing_.members};
}

std::vector<GroupedView::Pair> EpochController::KnownOf(
    const std::string& member) const {
  if (setup_->shared == nullptr) return {};
  return PairsOf(setup_->shared->KnownOf(member));
}

void EpochController::JoinSharing(const Boundary& boundary) {
  absl::StatusOr<CarriedNames> carried = CarriedNames::Make(boundary.carried);
  if (!carried.ok()) {
    Log(LogLevel::kError, absl::StrCat("peers: ", carried.status().message()));
    return live_->Reopen();
  }
  live_->Close();
  sharing_ = SharingOf(*setup_, boundary, binding_->epoch());
  const std::vector<CarriedPair> bound = FirstOfNames(
      boundary.carried, boundary.told, setup_->shared->KnownPairs());
  Bind({binding_->epoch(), *std::move(carried), /*identity=*/false, bound,
        sharing_});
  notifier_->Begin();
  if (tracker_ != nullptr) tracker_->ForgetLookups();
  // The epoch continues: consumed samples stay consumed.
  journal_.Begun(Record(), *binding_, tracker_.get());
  Publish();
}

std::vector<GroupedView::Pair> EpochController::OpenedHere() const {
  if (tracker_ == nullptr) return {};
  return PairsOf(ShownPairsOf(*binding_, tracker_->OpenedBefore()));
}

std::vector<GroupedView::Pair> EpochController::CloseForGroup() {
  closed_ = true;
  live_->Close();
  if (tracker_ == nullptr) return {};
  return PairsUnderWay(*tracker_, *binding_);
}

void EpochController::ReopenForGroup() {
  if (std::exchange(closed_, false)) live_->Reopen();
}

EpochController::Effects EpochController::BeginForGroup(
    const GroupedView::Next& next) {
  Boundary boundary = BoundaryOf(next, *setup_, *binding_);
  const bool was_opened = !boundary.opened.empty();
  closed_ = false;
  Begin(std::move(boundary));
  if (was_opened) live_->NoteOpen();
  return {.begun = notifier_->begun()};
}

EpochController::Effects EpochController::AdoptForGroup(
    const GroupedView::State& state, const GroupedView::Carried& carried) {
  Boundary boundary = BoundaryOf(state, carried, *setup_);
  if (!AllFit(boundary.carried, setup_->dataset->grouping())) {
    Log(LogLevel::kError, "peers: another node told of a pair that cannot be");
    ReopenForGroup();
    return {};
  }
  closed_ = false;
  const bool knew_none = sharing_.members.empty();
  if (knew_none && CanJoin(boundary, *setup_, *binding_)) {
    JoinSharing(boundary);
  } else {
    Begin(std::move(boundary));
  }
  // No other node knows what the node's own readers were shown.
  const bool knows_all = from_ledger_ && carried.told_all;
  if (knew_none && setup_->shared != nullptr && !knows_all) {
    setup_->shared->NoteEarlierRun();
  }
  if (state.epoch != epoch_.value()) {
    HoldForGroup({.epoch = state.epoch, .reason = "peers"});
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

EpochController::Effects EpochController::NoteListing(
    std::chrono::milliseconds now) {
  if (tracker_ == nullptr || !tracker_->WalksAreDueTo(now)) return {};
  tracker_->ShowWalks();
  return {.doubted = true};
}

bool EpochController::BindByListing() {
  if (!notifier_->told_all() || binding_->bound_names() != nullptr ||
      (tracker_ != nullptr && !tracker_->may_list())) {
    return false;
  }
  live_->NoteLookup();
  if (tracker_ != nullptr) tracker_->NoteListed();
  return true;
}

}  // namespace shufflefs
