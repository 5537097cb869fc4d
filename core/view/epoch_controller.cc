// SPDX-License-Identifier: Apache-2.0
#include "core/view/epoch_controller.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/view/effect.h"
#include "core/view/opens_seen.h"

namespace shufflefs {
namespace {

// If more names than this are bound, they are not retained in a new binding in
// mid-epoch.
constexpr size_t kMostRetained = 8192;

bool ShowsItself(const NameBinding& pair) { return pair.name == pair.sample; }

// With mini-epochs a name may show nothing yet.
void LeadTo(absl::optional<SampleId> name, OpenTracker::Walk& walk) {
  walk.is_shown = name.has_value();
  walk.sample = name.value_or(walk.sample);
}

bool StopsMoving(const ViewSetup* next) {
  return next != nullptr && !next->rebinds();
}

// If names are not to move any more, retained names would show other samples
// for ever. So the switch to `next` (may be null) waits for a boundary at which
// all that are retained show their own. Until then, names that are not retained
// do.
bool MustReturn(const ViewSetup* next,
                const std::vector<NameBinding>& retained) {
  return StopsMoving(next) && !absl::c_all_of(retained, ShowsItself);
}

// A reader with a fixed order opens the same name first in every epoch. If that
// name were retained each time, its sample would come more often than its
// share, or the name would never return to its own.
bool MayNotRetain(const Binding& binding, SampleId name,
                  const ViewSetup* next) {
  return binding.repeats() ||
         (StopsMoving(next) && binding.ShownSample(name) != name);
}

// Lets the setup that is due take effect. Returns the one before. Which samples
// exist cannot change while mounted, so retained names stay valid.
std::shared_ptr<const ViewSetup> TakePending(
    std::shared_ptr<const ViewSetup>& setup,
    std::shared_ptr<const ViewSetup>& pending,
    std::vector<NameBinding>& retained) {
  if (pending == nullptr || MustReturn(pending.get(), retained)) return nullptr;
  if (!pending->rebinds()) retained.clear();  // all show themselves
  return std::exchange(setup, std::exchange(pending, nullptr));
}

// That another family still reads is a reason not to rebind unasked, but a
// switch to `next` (may be null) was asked for. A binding that repeats would
// show the same part for ever. If opens were lost, perhaps no pass has ended.
bool MayHold(HoldReason reason, const Binding& binding, const ViewSetup* next) {
  if (reason == HoldReason::kLost) return true;
  return (next == nullptr || reason != HoldReason::kForeignJob) &&
         !binding.repeats();
}

// Names that threads were told of, and have not opened yet, keep their samples.
void KeepWalkedTo(const Binding& binding, OpenTracker& tracker,
                  std::vector<uint64_t>& keep) {
  for (const SampleId walked_to : tracker.TakeUnderWay()) {
    // With mini-epochs these are names already.
    keep.push_back(binding.repeats() ? walked_to.value()
                                     : binding.NameOfSample(walked_to).value());
  }
}

// By how many epochs an open of a container moves the view: by 1 if the pass
// has ended, by -1 if the one before must not have. Empty: not clear yet.
absl::optional<int> MovesBy(EntryId file, uint32_t reader, RecordEpoch& shown,
                            const ViewSetup& setup, const JobTracker& jobs) {
  if (!PassesOfRecordsCount(setup)) return 0;
  const JobTracker::Processes of = jobs.ProcessesOf(reader);
  const PassTracker::OpenIs is =
      shown.Open(file, {reader, of.own, of.loader, of.start},
                 [&jobs](uint32_t id) { return jobs.IsGone(id); });
  if (shown.BegunByMistake()) return -1;
  if (is == PassTracker::OpenIs::kUnclear) return absl::nullopt;
  return is == PassTracker::OpenIs::kTheNextPass ? 1 : 0;
}

// Opens of retained names may be reported yet, and no lookup precedes them.
void NoteRetained(const std::vector<NameBinding>& retained, bool by_name,
                  OpenTracker& tracker) {
  for (const NameBinding& pair : retained) {
    tracker.NoteRetained(SampleId(by_name ? pair.name : pair.sample));
  }
}

void AddOpens(const OpenTracker& tracker, ViewEpochStatus& status) {
  status.consumed = tracker.consumed();
  status.rereads = tracker.rereads();
}

void AddSwitchWarning(const ViewSetup& now, const ViewSetup* next,
                      const Binding& binding, ViewEpochStatus& status) {
  if (next == nullptr) return;
  const bool returns = MustReturn(next, binding.retained().pairs());
  status.warnings.push_back(SwitchWarning(now, *next, returns));
}

void Add(const EpochController::Effects& effects,
         EpochController::Effects& all) {
  if (effects.begun != 0) all.begun = effects.begun;
  all.were_fixed = all.were_fixed || effects.were_fixed;
  // A boundary ends what was due for the end of a pass.
  if (effects.begun != 0 || effects.committed) all.doubted = false;
  all.doubted = all.doubted || effects.doubted;
  all.committed = all.committed || effects.committed;
}

}  // namespace

EpochController::EpochController(Parts parts, EpochJournal journal,
                                 SubstitutionGuard guard)
    : job_tracker_(parts.job_tracker),
      live_(parts.live),
      notifier_(parts.notifier),
      group_(parts.group),
      sees_opens_(parts.sees_opens),
      reported_(parts.reports, parts.id),
      journal_(std::move(journal)),
      guard_(std::move(guard)),
      setup_(std::move(parts.setup)),
      waiting_(ShowsEpochs(*setup_) ? parts.read_before
                                    : ReadBefore::kNothing) {
  absl::optional<LedgerState> last = journal_.TakeLast(setup_->config.path);
  if (last && Resume(*last)) return;
  if (last && parts.running != nullptr) {
    pending_ = std::exchange(setup_, std::move(parts.running));
    if (Resume(*last)) return;
    setup_ = std::exchange(pending_, nullptr);
  }
  if (last) journal_.Drop(*last, *setup_);
  Begin(Boundary{setup_->config.epoch_start, {}, ""});
  if (parts.read_before != ReadBefore::kNothing) live_->NoteOpen();
}

EpochController::Effects EpochController::Open(const FileOpen& open) {
  live_->NoteOpen();
  if (tracker_ == nullptr) return {};
  const Grouping& grouping = setup_->dataset->grouping();
  if (!grouping.place(open.file)) return {};
  const SampleId sample = grouping.sample(open.file);
  const absl::optional<SampleId> name = binding_->NameAt(sample, open.ordinal);
  OpenTracker::Walk walk{sample, open.reader, open.now, notifier_->notified()};
  if (binding_->repeats()) LeadTo(name, walk);
  if (!tracker_->TakeLookup(walk)) return {.stale = true};  // see TakeLookup
  // The sample is of an earlier epoch and has no name in this one yet.
  if (!name) return {};
  const bool stopped = !grouped() &&
                       guard_.LearnNodes(*setup_, open.reader, open.now) &&
                       StopBinding();
  Effects effects = Count(*name, open.reader, open.now);
  if (stopped) effects.begun = notifier_->begun();
  effects.doubted = tracker_ != nullptr && tracker_->ShowDueWalks();
  return effects;
}

EpochController::Effects EpochController::Count(SampleId name, uint32_t reader,
                                                std::chrono::milliseconds now) {
  if (grouped()) return CountForGroup(name, reader, now);
  const GroupId group = setup_->dataset->grouping().group_of(name);
  OpenTracker::Seen seen = tracker_->NoteOpen({name, group, reader, now});
  EpochOutcome& outcome = seen.outcome;
  for (const uint64_t counted : outcome.counted) {
    journal_.Consumed(*binding_, SampleId(counted));
  }
  if (outcome.verdict == Verdict::kNone) {
    if (seen.fresh) journal_.Consumed(*binding_, name);
    if (!seen.fresh) journal_.Again(name, outcome);
    return {};
  }
  const bool again = MayNotRetain(*binding_, name, pending_.get()) &&
                     outcome.begins_pass && !reported_.expected() &&
                     tracker_->MaySendBack(reader);
  if (again) std::erase(outcome.retained, name.value());
  Effects effects = EndPass(job_tracker_->Resolve(reader, now), seen);
  if (effects.begun == 0) return effects;
  live_->NoteOpen();  // the verdict's open belongs to the new epoch
  if (again && tracker_ != nullptr) tracker_->SendBack(name, reader);
  effects.stale = again;
  return effects;
}

EpochController::Effects EpochController::EndPass(JobId job,
                                                  OpenTracker::Seen& seen) {
  if (reported_.expected()) live_->Close();
  reported_.Fetch();
  reported_.Judge(setup_->dataset->grouping().sample_count(),
                  job_tracker_->IsYounger(job), *tracker_, seen);
  guard_.Suspect(seen.suspicion);
  const EpochOutcome& outcome = seen.outcome;
  std::vector<uint64_t> keep = outcome.retained;
  if (outcome.verdict == Verdict::kHold) {
    if (MayHold(outcome.reason, *binding_, pending_.get())) {
      HoldAs({Epoch(epoch_.value() + 1), {}, VerdictName(outcome.rule)},
             HoldReasonName(outcome.reason), outcome);
      if (reported_.expected()) live_->Reopen();
      return {.committed = tracker_->HideWalks()};
    }
    keep = tracker_->OpenedBefore();
  }
  KeepWalkedTo(*binding_, *tracker_, keep);
  AddReported(keep);
  if (outcome.rule == 't') journal_.ForgetAgain();
  Begin(Boundary{Epoch(epoch_.value() + 1),
                 ShownPairsOf(*binding_, std::move(keep)),
                 VerdictName(outcome.rule)});
  return {.begun = notifier_->begun()};
}

void EpochController::HoldAs(Boundary boundary, absl::string_view reason,
                             const EpochOutcome& outcome) {
  if (held_ == 0) Log(LogLevel::kInfo, HeldLine(reason));
  epoch_ = boundary.epoch;
  verdict_ = std::move(boundary.verdict);
  hold_reason_ = std::string(reason);
  is_held_ = true;
  ++held_;
  journal_.Held(epoch_, outcome, *binding_, tracker_.get());
  if (reported_.expected()) journal_.OpensAreLate();
}

void EpochController::Begin(Boundary boundary) {
  live_->Close();
  const auto before = TakePending(setup_, pending_, boundary.retained);
  const bool returns = pending_ != nullptr;  // still
  epoch_ = boundary.epoch;
  verdict_ = std::move(boundary.verdict);
  hold_reason_.clear();
  is_held_ = false;
  const bool first = binding_ == nullptr;
  if (!first) waiting_ = ReadBefore::kNothing;
  const bool identity = waits() || returns || guard_.Stops(*setup_);
  const bool repeats = setup_->repeats() && !identity;
  RetainedBindings retained = Retain(boundary.retained, repeats);
  if (identity) boundary.members.clear();
  sharing_ = SharingOf(*setup_, boundary, epoch_);
  if (before != nullptr) journal_.KeepServed(*before, *setup_);
  if (repeats) journal_.GiveServed(*setup_);
  Bind({epoch_, std::move(retained), identity, BoundFrom(boundary, sharing_),
        sharing_});
  from_ledger_ = false;
  notifier_->Begin();
  if (first) notifier_->SkipNotifying();  // no name was shown yet
  live_->Forget();
  if (tracker_ != nullptr && !first) {
    tracker_->BeginEpoch();
    if (!boundary.opened.empty()) tracker_->Restore({boundary.opened});
  }
  if (!counts_opens() || tracker_ == nullptr ||
      tracker_->options() != TrackerOptions(*setup_, grouped())) {
    MakeWatch();
    // Earlier lookups led to other samples.
    if (tracker_ != nullptr && !first) tracker_->ForgetLookups();
  }
  reported_.ForgetLost();
  journal_.Begun(Record(), *binding_, tracker_.get());
  if (reported_.expected() && tracker_ != nullptr) {
    journal_.OpensAreLate();
    NoteRetained(boundary.retained, binding_->repeats(), *tracker_);
  }
  if (before != nullptr) journal_.Switched(epoch_, *before, *setup_);
  Publish();
  if (!first) Log(LogLevel::kInfo, BegunLine(*setup_, epoch_));
}

void EpochController::Bind(EpochBinding how) {
  // A reader that goes on in the old epoch has its order made again.
  if (records_ != nullptr) records_->ReleaseOrders();
  how.notes = journal_.NoterOfContainers(how.epoch);
  how.read_before = waiting_;
  LiveEpoch bound = MakeLiveEpoch(setup_, std::move(how));
  binding_ = std::move(bound.binding);
  records_ = std::move(bound.records);
}

void EpochController::Publish() {
  if (grouped()) {
    binding_hash_ = setup_->shared != nullptr ? sharing_.binding
                                              : HashOfNames(*setup_, *binding_);
  }
  live_->Publish({setup_, binding_, records_,
                  tracker_ != nullptr ? tracker_->lookups()
                                      : std::make_shared<EpochLookups>(0)});
}

void EpochController::MakeWatch() {
  const std::unique_ptr<OpenTracker> before = std::move(tracker_);
  if (!counts_opens()) return;
  tracker_ = std::make_unique<OpenTracker>(TrackerOptions(*setup_, grouped()),
                                           *job_tracker_);
  if (reported_.expected()) tracker_->ExpectReports();
  if (before == nullptr) return;
  tracker_->TakeRetried(*before);
  tracker_->Restore({.opened = before->OpenedBefore()});
}

bool EpochController::StopBinding() {
  const std::shared_ptr<BoundNames> bound_names = binding_->bound_names();
  if (bound_names == nullptr) return false;
  live_->Close();
  std::vector<NameBinding> bound =
      BoundPairs(*bound_names, setup_->dataset->grouping().sample_count(),
                 /*most=*/kMostRetained + 1);
  if (bound.size() > kMostRetained) {
    live_->Reopen();
    return false;
  }
  Bind({binding_->epoch(),
        Retain(bound, /*repeats=*/false),
        /*identity=*/true,
        {}});
  notifier_->Begin();
  tracker_->ForgetLookups();
  // The epoch continues: consumed samples stay consumed.
  journal_.Begun(Record(), *binding_, tracker_.get());
  Publish();
  return true;
}

EpochController::Effects EpochController::BeginPass(int by) {
  const bool were_fixed = !setup_->rebinds();
  // Another setup has other orders.
  auto before = by > 0 && pending_ == nullptr ? records_ : nullptr;
  const Epoch epoch(epoch_.value() + static_cast<uint64_t>(by));
  Begin(Boundary{epoch, {}, by > 0 ? "b" : ""});
  if (before != nullptr) records_->Follow(std::move(before));
  return {notifier_->begun(), were_fixed && setup_->rebinds()};
}

EpochController::Effects EpochController::EndPassOf(
    const RecordEpoch& records) {
  if (records_.get() != &records || setup_->rebinds()) return {};
  return BeginPass(1);
}

EpochController::Effects EpochController::OpenContainer(EntryId file,
                                                        RecordEpoch& shown,
                                                        uint32_t reader) {
  if (shown.live()) live_->NoteOpen();  // fixed epochs move nothing
  const bool second_try = retried_.Take(reader);
  if (!shown.live()) return {};
  Effects effects;
  if (&shown == records_.get()) {
    const auto moves = MovesBy(file, reader, shown, *setup_, *job_tracker_);
    if (moves == 0) return {};
    if (moves) effects = BeginPass(*moves);
    if (moves) live_->NoteOpen();  // it belongs to the pass that begins
  }
  // The kernel does not ask a third time. At the second try it gets the file in
  // the previous order, because the boundary came after its lookup.
  effects.stale = !second_try;
  if (!second_try && reader != 0) retried_.Add(reader);
  return effects;
}

EpochController::Effects EpochController::Install(
    std::shared_ptr<const ViewSetup> setup, const ControlRequest& request) {
  const bool were_fixed = !setup_->rebinds();
  reported_.Fetch();
  if (!reported_.waiting().empty()) live_->NoteOpen();
  if (request.feedback && setup_->repeats()) {
    setup_->samples->sets().Feedback(*request.feedback);
  }
  if (setup != nullptr) pending_ = std::move(setup);
  // The group moves the epoch, on all nodes.
  if (grouped()) return {};
  const bool moved = request.next_epoch || request.set_epoch.has_value();
  if (!moved && pending_ == nullptr) return {};
  Boundary boundary{epoch_, {}, verdict_};
  const bool was_read = !moved && !live_->CloseUnread(sees_opens_);
  if (was_read && !SwitchesInPass(*setup_, *pending_)) return {};
  if (moved) {
    if (tracker_ != nullptr) guard_.Suspect(tracker_->Signal());
    boundary.verdict = "signal";
    boundary.epoch = request.set_epoch.value_or(Epoch(epoch_.value() + 1));
  }
  Begin(std::move(boundary));
  if (was_read) live_->NoteOpen();  // the pass goes on
  return {.begun = notifier_->begun(), .were_fixed = were_fixed};
}

void EpochController::ExpectReports() {
  reported_.Expect();
  if (!reported_.expected() || tracker_ == nullptr) return;
  tracker_->ExpectReports();
  journal_.OpensAreLate();
  journal_.BoundSoFar(*binding_);
}

EpochController::Effects EpochController::TakeReports(
    std::chrono::milliseconds now) {
  Effects all;
  reported_.Fetch();
  while (const absl::optional<ReportedOpen> open = reported_.Next()) {
    Add(CountReport(*open, now), all);
  }
  return all;
}

EpochController::Effects EpochController::NoteWalksShown(
    std::chrono::milliseconds now) {
  const Effects effects = TakeReports(now);
  if (tracker_ != nullptr && !effects.doubted) tracker_->NoteWalksShown();
  return effects;
}

EpochController::Effects EpochController::CountReport(
    const ReportedOpen& open, std::chrono::milliseconds now) {
  live_->NoteOpen();
  setup_->NoteReportedOpen(open.file, open.reader, now);
  const absl::optional<SampleId> name = NameOf(open);
  if (!name) return {};
  const SampleId sample = setup_->dataset->grouping().sample(open.file);
  const SampleId walked_to = binding_->repeats() ? *name : sample;
  if (!tracker_->TakeReport(walked_to, open.reader)) return {};
  Effects effects = Count(*name, open.reader, now);
  effects.doubted = tracker_ != nullptr && tracker_->ShowDueWalks();
  return effects;
}

absl::optional<SampleId> EpochController::NameOf(
    const ReportedOpen& open) const {
  const Grouping& grouping = setup_->dataset->grouping();
  if (tracker_ == nullptr || !grouping.place(open.file)) return absl::nullopt;
  return binding_->NameAt(grouping.sample(open.file), open.ordinal);
}

void EpochController::AddReported(std::vector<uint64_t>& names) const {
  for (const ReportedOpen& open : reported_.waiting()) {
    if (const auto name = NameOf(open)) names.push_back(name->value());
  }
}

ViewEpochStatus EpochController::Status() const {
  ViewEpochStatus status;
  status.epoch = epoch_;
  status.state = is_held_ ? "held" : "running";
  if (waits() || pending_ != nullptr) status.state = "waiting";
  status.verdict = verdict_;
  status.held = held_;
  status.hold_reason = hold_reason_;
  status.retained = binding_->retained().size();
  status.nodes = sharing_.members.size();
  status.samples = setup_->dataset->grouping().sample_count();
  if (tracker_ != nullptr) AddOpens(*tracker_, status);
  status.suspended = guard_.Stops(*setup_);
  status.shows_own = status.suspended && binding_->identity() &&
                     absl::c_all_of(binding_->retained().pairs(), ShowsItself);
  status.warnings = guard_.Warnings(*setup_);
  status.warnings.push_back(PassWarning(*setup_, waiting_));
  status.warnings.push_back(journal_.Warning());
  if (tracker_) status.warnings.emplace_back(reported_.Warning());
  if (grouped()) status.warnings.push_back(group_->Warning());
  status.warnings.push_back(SharingWarning(*setup_, sharing_));
  if (setup_->shared) status.warnings.push_back(setup_->shared->Warning());
  status.warnings.push_back(
      OpensWarning(*setup_, records_ != nullptr, sees_opens_));
  AddSwitchWarning(*setup_, pending_.get(), *binding_, status);
  std::erase(status.warnings, "");
  return status;
}

}  // namespace shufflefs
