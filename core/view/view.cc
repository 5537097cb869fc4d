// SPDX-License-Identifier: Apache-2.0
#include "core/view/view.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/config/value_text.h"
#include "core/pool/read_ahead.h"
#include "core/view/opens_seen.h"

namespace shufflefs {
namespace {

absl::Status NoEpochZero() {
  return absl::UnavailableError(
      "on several nodes epochs only advance: epoch = 0 is not possible");
}

}  // namespace

View::View(Parts parts)
    : id_(parts.id),
      name_(ViewName(parts.setup->config.path)),
      tools_(std::move(parts.tools)),
      job_tracker_(parts.job_tracker),
      ledger_(parts.ledger),
      group_(parts.group),
      sees_opens_(parts.sees_opens),
      reports_(parts.reports),
      live_(parts.hears_opens, std::move(parts.waits)),
      notifier_({std::move(parts.rebound), std::move(parts.settled),
                 std::move(parts.doubted)}),
      controller_(
          {std::move(parts.setup), std::move(parts.running), parts.job_tracker,
           &live_, &notifier_, parts.group, parts.sees_opens, parts.reports,
           parts.id, parts.read_before},
          EpochJournal(parts.id, parts.ledger),
          SubstitutionGuard(name_, parts.nodes)) {}

View::OpenVerdict View::Tell(const EpochController::Effects& effects) {
  if (effects.begun != 0) notifier_.Tell(effects.were_fixed, effects.begun);
  if (effects.doubted) notifier_.Doubt();
  if (effects.settled && !effects.doubted) notifier_.Settle();
  return effects.stale ? OpenVerdict::kStale : OpenVerdict::kServe;
}

void View::TellAndNote(EpochController::Effects effects,
                       std::chrono::milliseconds now) {
  for (;;) {
    Tell(effects);
    if (!effects.doubted || !expects_reports_) return;
    MutexLock lock(mu_);
    effects = controller_.NoteWalksShown(now);
  }
}

bool View::PrepareReports() {
  MutexLock lock(mu_);
  // After a crash the epoch of another policy may go on.
  suits_reports_ =
      CheckOpens(*setup(), sees_opens_, true).ok() &&
      CheckOpens(controller_.wanted_setup(), sees_opens_, true).ok();
  const std::shared_ptr<const ViewSetup> next = checked_.lock();
  if (next != nullptr && !CheckOpens(*next, sees_opens_, true).ok()) {
    suits_reports_ = false;
  }
  return suits_reports_;
}

void View::ExpectReports() {
  MutexLock lock(mu_);
  controller_.ExpectReports();
  expects_reports_ = true;
}

void View::NoteUnseenReader() {
  if (has_unseen_.exchange(true)) return;
  MutexLock lock(mu_);
  controller_.NoteUnseenReader();
}

void View::ExpectNoOpens() {
  MutexLock lock(mu_);
  live_.HearNoOpens();
}

void View::TakeReports(std::chrono::milliseconds now) {
  if (!expects_reports_) return;
  EpochController::Effects effects;
  {
    MutexLock lock(mu_);
    effects = controller_.TakeReports(now);
  }
  TellAndNote(effects, now);
}

View::Found View::Lookup(EntryId name, int32_t pid,
                         std::chrono::milliseconds now) {
  const uint32_t reader = ReaderOf(pid);
  // The process may have ended when its open is reported.
  if (expects_reports_ && reader != 0) {
    job_tracker_->Resolve(reader, now);
  }
  for (;;) {
    const std::shared_ptr<const LiveEpoch> live = live_.EnterLookup();
    if (!live->setup->rebinds()) return Found{name, false};
    const Binding& binding = *live->binding;
    const Grouping& grouping = binding.plan().dataset().grouping();
    if (!grouping.place(name)) return Found{name, false};
    BoundNames* const bound_names = binding.bound_names().get();
    const SampleId own = grouping.sample(name);
    if (bound_names != nullptr) bound_names->Bind(own);
    live->setup->NoteLookup(name, reader, now);
    const EntryId shown = binding.Shown(name);
    const uint32_t ordinal = binding.OrdinalOf(own);
    // Lookups are noted by the sample whose node is looked up, because the
    // nodes of one sample differ.
    const EpochLookups::Told told = live->lookups->Note(
        binding.repeats() ? own : grouping.sample(shown), reader);
    // A thread that was sent back opens what it is told now. That must not be
    // of the previous epoch.
    if (told == EpochLookups::Told::kNothing) continue;
    // The thread may open what it opened a moment ago, in the pass before. That
    // open must not be merged into the one before the boundary.
    const bool lasts = told == EpochLookups::Told::kForLong;
    if (!lasts && expects_reports_) reports_->Collect();
    return Found{shown, true, bound_names == nullptr, lasts, ordinal};
  }
}

View::OpenVerdict View::Open(EntryId file, int32_t pid,
                             std::chrono::milliseconds now, uint32_t ordinal) {
  const uint32_t reader = ReaderOf(pid);
  for (;;) {
    const std::shared_ptr<const LiveEpoch> live = live_.EnterOpen();
    if (!live->WatchesOpensOf(file)) {
      live->setup->NoteOpen(file, reader, now);
      return OpenVerdict::kServe;
    }
    EpochController::Effects effects;
    {
      MutexLock lock(mu_);
      if (controller_.closed()) continue;  // and wait there
      effects = controller_.Open({file, reader, now, ordinal});
    }
    TellAndNote(effects, now);
    return effects.stale ? OpenVerdict::kStale : OpenVerdict::kServe;
  }
}

std::shared_ptr<RecordEpoch> View::LookupContainer(EntryId file) {
  for (;;) {
    const std::shared_ptr<const LiveEpoch> live = live_.EnterLookup();
    const std::shared_ptr<RecordEpoch>& records = live->records;
    if (records == nullptr || !records->Has(file)) return nullptr;
    if (live->setup->config.epoch_advance != Advance::kAuto ||
        !records->BeginsByLookup(file)) {
      return records;
    }
    EpochController::Effects effects;
    {
      MutexLock lock(mu_);
      effects = controller_.EndPassOf(*records);
    }
    Tell(effects);
  }
}

View::OpenVerdict View::OpenContainer(EntryId file, RecordEpoch& shown,
                                      int32_t pid,
                                      std::chrono::milliseconds now) {
  const uint32_t reader = ReaderOf(pid);
  EpochController::Effects effects;
  {
    MutexLock lock(mu_);
    effects = controller_.OpenContainer(file, shown, reader);
  }
  // A job may read plain files among containers, in one order.
  if (shown.live() && !effects.stale) setup()->NoteOpen(file, reader, now);
  return Tell(effects);
}

std::shared_ptr<ContentProvider> View::ProviderOf(EntryId file,
                                                  bool live) const {
  std::shared_ptr<const LiveEpoch> epoch = live_.Get();
  ContentProvider* const provider = epoch->ProviderOf(file, live);
  if (provider == nullptr) return nullptr;
  return std::shared_ptr<ContentProvider>(std::move(epoch), provider);
}

void View::NoteListing(std::chrono::milliseconds now) {
  if (!live()->lookups->wanted()) return;
  EpochController::Effects effects;
  {
    MutexLock lock(mu_);
    effects = controller_.NoteListing(now);
  }
  TellAndNote(effects, now);
}

bool View::BindByListing() {
  MutexLock lock(mu_);
  return controller_.BindByListing();
}

std::shared_ptr<const Binding> View::FixedBinding(Epoch epoch) const {
  const std::shared_ptr<const ViewSetup> setup = this->setup();
  std::shared_ptr<const Binding> binding = fixed_.BindingOf(*setup, epoch);
  if (setup->ahead != nullptr) setup->ahead->FollowFixed(binding, false);
  return binding;
}

std::shared_ptr<const Binding> View::FixedRanks(Epoch epoch) const {
  const std::shared_ptr<const ViewSetup> setup = this->setup();
  std::shared_ptr<const Binding> binding = fixed_.BindingOf(*setup, epoch);
  if (setup->ahead != nullptr) setup->ahead->FollowFixed(binding, true);
  return binding;
}

std::shared_ptr<RecordEpoch> View::FixedRecords(Epoch epoch) const {
  return fixed_.RecordsOf(*setup(), epoch);
}

absl::StatusOr<View::Prepared> View::Prepare(const ControlRequest& request) {
  Prepared prepared;
  prepared.request = request;
  if (!request.config_changed) return prepared;
  std::shared_ptr<const ViewSetup> now = setup();
  ASSIGN_OR_RETURN(
      prepared.setup,
      MakeViewSetup(request.config, now->dataset->shared_catalogue(), tools_,
                    now.get()));
  RETURN_IF_ERROR(CheckOpens(*prepared.setup, sees_opens_, suits_reports_));
  return prepared;
}

absl::Status View::SwitchOthers(const ControlRequest& request) {
  if (group_ == nullptr || request.settings.empty()) return absl::OkStatus();
  return group_->Switch(request.settings);
}

absl::Status View::CheckInstall(const Prepared& prepared) {
  MutexLock lock(mu_);
  if (controller_.grouped() && prepared.request.set_epoch == Epoch(0)) {
    return NoEpochZero();
  }
  if (prepared.setup == nullptr) return absl::OkStatus();
  // Since it was prepared, the kernel may have begun to report opens.
  RETURN_IF_ERROR(CheckOpens(*prepared.setup, sees_opens_, suits_reports_));
  checked_ = prepared.setup;
  return absl::OkStatus();
}

absl::Status View::Install(Prepared prepared) {
  const ControlRequest& request = prepared.request;
  EpochController::Effects effects;
  bool asks_group = false;
  {
    MutexLock lock(mu_);
    asks_group = controller_.grouped() &&
                 (request.next_epoch || request.set_epoch.has_value());
    effects = controller_.Install(std::move(prepared.setup), request);
  }
  Tell(effects);
  if (!asks_group) return absl::OkStatus();
  const uint64_t epoch = request.set_epoch.value_or(Epoch(0)).value();
  if (epoch == 0 && request.set_epoch) return NoEpochZero();
  return group_->Signal(epoch);
}

ViewConfig View::config() const {
  MutexLock lock(mu_);
  return controller_.wanted_setup().config;
}

ViewEpochStatus View::EpochStatus() const {
  MutexLock lock(mu_);
  return controller_.Status();
}

OpenTracker::Options View::GroupOptions() const {
  OpenTracker::Options options = TrackerOptions(*setup(), /*grouped=*/false);
  options.finds_epochs = options.finds_epochs && sees_opens_;
  return options;
}

bool View::IsGrouped() const {
  MutexLock lock(mu_);
  return controller_.grouped();
}

GroupedView::State View::GroupState() const {
  MutexLock lock(mu_);
  return controller_.GroupState();
}

GroupedView::Carried View::CarriedNow() const {
  MutexLock lock(mu_);
  return controller_.CarriedNow();
}

std::vector<GroupedView::Pair> View::OpenedHere() const {
  MutexLock lock(mu_);
  return controller_.OpenedHere();
}

std::vector<GroupedView::Pair> View::CloseEpoch() {
  MutexLock lock(mu_);
  return controller_.CloseForGroup();
}

void View::ReopenEpoch() {
  MutexLock lock(mu_);
  controller_.ReopenForGroup();
}

void View::BeginEpoch(const Next& next) {
  EpochController::Effects effects;
  {
    MutexLock lock(mu_);
    effects = controller_.BeginForGroup(next);
  }
  Tell(effects);
}

std::vector<GroupedView::Pair> View::KnownOf(const std::string& member) const {
  MutexLock lock(mu_);
  return controller_.KnownOf(member);
}

void View::AdoptEpoch(const State& state, const Carried& carried) {
  EpochController::Effects effects;
  {
    MutexLock lock(mu_);
    effects = controller_.AdoptForGroup(state, carried);
  }
  Tell(effects);
}

void View::HoldEpoch(const Next& next) {
  EpochController::Effects effects;
  {
    MutexLock lock(mu_);
    effects = controller_.HoldForGroup(next);
  }
  Tell(effects);
}

void View::ShowWalks() {
  EpochController::Effects effects;
  {
    MutexLock lock(mu_);
    effects = controller_.ShowWalksForGroup();
  }
  Tell(effects);
}

absl::optional<SharedNames::Holder> View::HolderOf(EntryId file) const {
  const std::shared_ptr<const ViewSetup> setup = this->setup();
  if (setup->shared == nullptr) return absl::nullopt;
  const Grouping& grouping = setup->dataset->grouping();
  if (!grouping.place(file)) return absl::nullopt;
  return setup->shared->HolderOf(grouping.sample(file));
}

std::vector<EntryId> View::FilesOfShared(uint64_t sample) const {
  const std::shared_ptr<const ViewSetup> setup = this->setup();
  const Grouping& grouping = setup->dataset->grouping();
  std::vector<EntryId> files;
  if (setup->shared == nullptr || sample >= grouping.sample_count()) {
    return files;
  }
  for (uint32_t c = 0; c < grouping.columns(SampleId(sample)); ++c) {
    files.push_back(grouping.member(SampleId(sample), c));
  }
  return files;
}

absl::optional<Supply::HeldBytes> View::TakeForOthers(uint64_t sample,
                                                      uint64_t most) const {
  const std::shared_ptr<const ViewSetup> setup = this->setup();
  if (setup->shared == nullptr || setup->supply == nullptr ||
      sample >= setup->dataset->grouping().sample_count()) {
    return absl::nullopt;
  }
  const auto holder = setup->shared->HolderOf(SampleId(sample));
  if (!holder || !holder->self) return absl::nullopt;
  return setup->supply->TakeForOthers(SampleId(sample), most);
}

uint64_t View::samples_shown() const {
  const std::shared_ptr<const ViewSetup> setup = this->setup();
  return setup->shared == nullptr ? 0 : setup->shared->shown();
}

absl::StatusOr<std::vector<uint64_t>> View::BindForOthers(
    const SharedNames::Question& question) const {
  const std::shared_ptr<const ViewSetup> setup = this->setup();
  if (setup->shared != nullptr) return setup->shared->BindForOthers(question);
  return absl::FailedPreconditionError("names are not shared");
}

bool View::watches_opens() const {
  const std::shared_ptr<const LiveEpoch> live = live_.Get();
  return (live->setup->rebinds() || live->records != nullptr) &&
         live->setup->config.epoch_advance == Advance::kAuto;
}

}  // namespace shufflefs
