// SPDX-License-Identifier: Apache-2.0
// The part of EpochController that goes on with an epoch which it did not begin
// by itself: from the ledger after a restart, from the token that a job saved,
// or as the group of several nodes says. Also what lookups
// and listings do.
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/view/epoch_controller.h"

namespace shufflefs {
namespace {

using Maker =
    absl::StatusOr<RetainedBindings> (*)(std::vector<NameBinding> pairs);

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
         AllFit(then.retained, grouping) && AllFit(last.bound, grouping);
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
  if (before != nullptr) tracker.TakeRetried(*before);
  tracker.Resume(names, position - std::min<uint64_t>(position, names.size()));
  tracker.ForgetLookups();
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
  for (const NameBinding& pair : BoundPairs(bound_names, names, names)) {
    (read.contains(pair.name) ? token.pairs->shown : token.pairs->bound)
        .push_back(pair);
  }
}

// The names of `binding` whose samples were read.
std::vector<uint64_t> NamesRead(const LedgerState& state,
                                const Binding& binding) {
  std::vector<uint64_t> names;
  for (const NameBinding& pair : state.bound_and_consumed()) {
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
  sharing.known = boundary.retained;
  sharing.binding = HashOfSharing(setup, epoch, sharing);
  return sharing;
}

std::vector<NameBinding> BoundFrom(const EpochBoundary& boundary,
                                   const NameSharing& sharing) {
  if (sharing.members.empty() || boundary.told.empty()) {
    return boundary.retained;
  }
  return FirstOfNames(boundary.retained, boundary.told, {});
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
  const auto make = then.repeats ? RetainedBindings::MakeRepeating
                                 : static_cast<Maker>(RetainedBindings::Make);
  auto retained = make(then.retained);
  if (!retained.ok() || !make(last.bound).ok()) return false;
  waiting_ = then.read_before;
  NoteByHand(then.by_hand, *setup_);
  Bind({then.binding, *std::move(retained), then.identity, last.bound});
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

EpochToken TokenOf(EpochController::Saved saved) {
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
    const absl::Status taken = setup->samples->sets().TakeServed(then.served);
    if (!taken.ok()) return TokenRefused(taken.message());
  }
  auto retained = RetainedBindings::Make(then.retained);
  if (!retained.ok()) return TokenRefused(retained.status().message());
  live_->Close();
  const bool were_fixed = !setup_->rebinds();
  pending_ = nullptr;
  if (!then.repeats) journal_.KeepServed(*setup_, *setup);
  setup_ = std::move(setup);
  waiting_ = then.read_before;
  NoteByHand(then.by_hand, *setup_);
  Bind({then.binding, *std::move(retained), then.identity, state.bound});
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

EpochController::Effects EpochController::JoinSharing(
    const Boundary& boundary) {
  closed_ = false;
  auto retained = RetainedBindings::Make(boundary.retained);
  if (!retained.ok()) {
    Log(LogLevel::kError, absl::StrCat("peers: ", retained.status().message()));
    live_->Reopen();
    return {.begun = notifier_->begun()};
  }
  live_->Close();
  sharing_ = SharingOf(*setup_, boundary, binding_->epoch());
  const std::vector<NameBinding> bound = FirstOfNames(
      boundary.retained, boundary.told, setup_->shared->KnownPairs());
  Bind({binding_->epoch(), *std::move(retained), /*identity=*/false, bound,
        sharing_});
  notifier_->Begin();
  if (tracker_ != nullptr) tracker_->ForgetLookups();
  // The epoch continues: consumed samples stay consumed.
  journal_.Begun(Record(), *binding_, tracker_.get());
  Publish();
  return {.begun = notifier_->begun()};
}

EpochController::Effects EpochController::BeginEpoch(Boundary boundary) {
  const bool was_opened = !boundary.opened.empty();
  closed_ = false;
  Begin(std::move(boundary));
  if (was_opened) live_->NoteOpen();
  return {.begun = notifier_->begun()};
}

EpochController::Effects EpochController::EndPassByLookup(
    SampleId name, uint32_t reader, std::chrono::milliseconds now) {
  Effects all = TakeReports(now);
  if (all.begun != 0 || tracker_ == nullptr || grouped() ||
      !reported_.are_whole() || !tracker_->IsPassOver(name, reader, now)) {
    return all;
  }
  OpenTracker::Seen seen = tracker_->EndPass(now);
  return EndPass(job_tracker_->Resolve(reader, now), seen);
}

void EpochController::NoteBound(const Binding& binding, SampleId name,
                                SampleId noted_as) {
  if (&binding != binding_.get() || tracker_ == nullptr) return;
  EpochLookups& lookups = *tracker_->lookups();
  if (lookups.WasLookedUp(noted_as)) return;
  journal_.Bound(binding, name);
  lookups.TakeLookup(noted_as);  // others are told only what is in the ledger
}

EpochController::Effects EpochController::NoteListing(
    std::chrono::milliseconds now) {
  if (tracker_ == nullptr || !tracker_->WalksAreDueTo(now)) return {};
  tracker_->ShowWalks();
  return {.doubted = true};
}

bool EpochController::BindByListing() {
  if (!notifier_->notified() || binding_->bound_names() != nullptr ||
      (tracker_ != nullptr && !tracker_->may_list())) {
    return false;
  }
  live_->NoteLookup();
  if (tracker_ != nullptr) tracker_->NoteListed();
  return true;
}

}  // namespace shufflefs
