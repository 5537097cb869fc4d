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
      notifier_({std::move(parts.on_rebind), std::move(parts.on_committed),
                 std::move(parts.on_doubted)}),
      controller_(
          {std::move(parts.setup), std::move(parts.running), parts.job_tracker,
           &live_, &notifier_, parts.group, parts.sees_opens, parts.reports,
           parts.id, parts.read_before},
          EpochJournal(parts.id, parts.ledger),
          SubstitutionGuard(name_, parts.nodes)),
      in_group_({&controller_, &live_, parts.sees_opens}) {}

bool View::PrepareReports() {
  MutexLock lock(promise_mu_);
  // After a crash the epoch of another policy may go on.
  const auto suits = [this](const EpochController& epochs) {
    return CheckOpens(epochs.setup(), sees_opens_, true).ok() &&
           CheckOpens(epochs.wanted_setup(), sees_opens_, true).ok();
  };
  const std::shared_ptr<const ViewSetup> next = checked_.lock();
  suits_reports_ =
      controller_.Get(suits) &&
      (next == nullptr || CheckOpens(*next, sees_opens_, true).ok());
  return suits_reports_;
}

void View::NoteUnseenReader() {
  if (has_unseen_.exchange(true)) return;
  controller_.Run([](EpochController& epochs) {
    epochs.NoteUnseenReader();
    return Effects();
  });
}

void View::ExpectNoOpens() {
  controller_.Run([this](EpochController&) {
    live_.HearNoOpens();
    return Effects();
  });
}

void View::TakeReports(std::chrono::milliseconds now) {
  if (!controller_.expects_reports()) return;
  controller_.RunAt(
      now, [now](EpochController& epochs) { return epochs.TakeReports(now); });
}

View::Found View::Lookup(EntryId name, int32_t pid,
                         std::chrono::milliseconds now) {
  const uint32_t reader = ReaderOf(pid);
  // The process may have ended when its open is reported.
  if (controller_.expects_reports() && reader != 0) {
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
    if (binding.repeats() && EndsPass(*live, own, reader, now)) continue;
    if (bound_names != nullptr) bound_names->Bind(own);
    live->setup->NoteLookup(name, reader, now);
    const EntryId shown = binding.Shown(name);
    const uint32_t ordinal = binding.OrdinalOf(own);
    // Lookups are noted by the sample whose node is looked up, because the
    // nodes of one sample differ.
    const SampleId noted_as = binding.repeats() ? own : grouping.sample(shown);
    if (bound_names != nullptr && controller_.expects_reports() &&
        !live->lookups->WasLookedUp(noted_as)) {
      NoteBound(binding, own, noted_as);
    }
    const EpochLookups::Told told = live->lookups->Note(noted_as, reader);
    // A thread that was sent back opens what it is told now. That must not be
    // of the previous epoch.
    if (told == EpochLookups::Told::kNothing) continue;
    // The thread may open what it opened a moment ago, in the pass before. That
    // open must not be merged into the one before the boundary.
    const bool lasts = told == EpochLookups::Told::kForLong;
    if (!lasts && controller_.expects_reports()) reports_->Collect();
    return Found{shown, true, bound_names == nullptr, lasts, ordinal};
  }
}

bool View::EndsPass(const LiveEpoch& live, SampleId name, uint32_t reader,
                    std::chrono::milliseconds now) {
  if (!controller_.expects_reports() || !live.lookups->shows_walks()) {
    return false;
  }
  const Effects effects = controller_.RunAt(now, [&](EpochController& epochs) {
    return epochs.EndPassByLookup(name, reader, now);
  });
  return effects.begun != 0;
}

void View::NoteBound(const Binding& binding, SampleId name, SampleId noted_as) {
  controller_.Run([&](EpochController& epochs) {
    epochs.NoteBound(binding, name, noted_as);
    return Effects();
  });
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
    bool closed = false;
    const Effects effects =
        controller_.RunAt(now, [&](EpochController& epochs) {
          closed = epochs.closed();
          return closed ? Effects() : epochs.Open({file, reader, now, ordinal});
        });
    if (closed) continue;  // and wait there
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
    controller_.Run([&records](EpochController& epochs) {
      return epochs.EndPassOf(*records);
    });
  }
}

View::OpenVerdict View::OpenContainer(EntryId file, RecordEpoch& shown,
                                      int32_t pid,
                                      std::chrono::milliseconds now) {
  const uint32_t reader = ReaderOf(pid);
  const Effects effects = controller_.Run([&](EpochController& epochs) {
    return epochs.OpenContainer(file, shown, reader);
  });
  if (effects.stale) return OpenVerdict::kStale;
  // A job may read plain files among containers, in one order.
  if (shown.live()) setup()->NoteOpen(file, reader, now);
  return OpenVerdict::kServe;
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
  controller_.RunAt(
      now, [now](EpochController& epochs) { return epochs.NoteListing(now); });
}

bool View::BindByListing() {
  bool binds = false;
  controller_.Run([&binds](EpochController& epochs) {
    binds = epochs.BindByListing();
    return Effects();
  });
  return binds;
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
  if (prepared.request.set_epoch == Epoch(0) && in_group_.IsGrouped()) {
    return NoEpochZero();
  }
  if (prepared.setup == nullptr) return absl::OkStatus();
  MutexLock lock(promise_mu_);
  // Since it was prepared, the kernel may have begun to report opens.
  RETURN_IF_ERROR(CheckOpens(*prepared.setup, sees_opens_, suits_reports_));
  checked_ = prepared.setup;
  return absl::OkStatus();
}

absl::Status View::Install(Prepared prepared) {
  const ControlRequest& request = prepared.request;
  bool asks_group = false;
  controller_.Run([&](EpochController& epochs) {
    asks_group = epochs.grouped() &&
                 (request.next_epoch || request.set_epoch.has_value());
    return epochs.Install(std::move(prepared.setup), request);
  });
  if (!asks_group) return absl::OkStatus();
  const uint64_t epoch = request.set_epoch.value_or(Epoch(0)).value();
  if (epoch == 0 && request.set_epoch) return NoEpochZero();
  return group_->Signal(epoch);
}

ViewConfig View::config() const {
  return controller_.Get([](const EpochController& epochs) {
    return epochs.wanted_setup().config;
  });
}

ViewEpochStatus View::EpochStatus() const {
  return controller_.Get(
      [](const EpochController& epochs) { return epochs.Status(); });
}

EpochToken View::Token() const {
  return TokenOf(controller_.Get(
      [](const EpochController& epochs) { return epochs.Save(); }));
}

absl::StatusOr<bool> View::GoesOnWith(EpochToken& token) {
  const std::shared_ptr<const ViewSetup> now = setup();
  if (token.fingerprint != now->dataset->catalogue().samples_fingerprint()) {
    return TokenRefused("the dataset has changed since it was saved");
  }
  RETURN_IF_ERROR(FindPairs(ledger_, now->config.path, token));
  WholeFiles whole = WholeFilesOf(token, *now);
  bool goes_on = false;
  controller_.Run([&](EpochController& epochs) {
    goes_on = epochs.GoesOnWith(token, std::move(whole));
    return Effects();
  });
  return goes_on;
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
      (state.begin.repeats ? RetainedBindings::MakeRepeating(state.bound)
                           : RetainedBindings::Make(state.bound))
          .status();
  if (!bound.ok()) return TokenRefused(bound.message());
  absl::Status restored;
  controller_.Run([&](EpochController& epochs) {
    const absl::StatusOr<Effects> effects = epochs.Restore(
        std::move(prepared.setup), state, token.position.value_or(0));
    restored = effects.status();
    return effects.value_or(Effects());
  });
  return restored;
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

absl::optional<SampleProducer::HeldBytes> View::TakeForOthers(
    uint64_t sample, uint64_t most) const {
  const std::shared_ptr<const ViewSetup> setup = this->setup();
  if (setup->shared == nullptr || setup->samples == nullptr ||
      sample >= setup->dataset->grouping().sample_count()) {
    return absl::nullopt;
  }
  const auto holder = setup->shared->HolderOf(SampleId(sample));
  if (!holder || !holder->self) return absl::nullopt;
  return setup->samples->TakeForOthers(SampleId(sample), most);
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
