// SPDX-License-Identifier: Apache-2.0
#include "core/view/view.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/sampler/foresight.h"

namespace shufflefs {
namespace {

std::string NameOfPath(std::string path) {
  std::replace(path.begin(), path.end(), '/', '~');
  return path.empty() ? "root" : path;
}

std::string VerdictName(char rule) {
  switch (rule) {
    case 't':
      return "takeover";
    case 's':
      return "signal";
    default:
      return std::string(1, rule);
  }
}

}  // namespace

View::View(Parts parts)
    : id_(parts.id),
      name_(NameOfPath(parts.setup->config.path)),
      tools_(std::move(parts.tools)),
      families_(parts.families),
      ledger_(parts.ledger),
      nodes_(parts.nodes),
      rebound_(std::move(parts.rebound)),
      settled_(std::move(parts.settled)),
      doubted_(std::move(parts.doubted)),
      sees_opens_(parts.sees_opens) {
  MutexLock lock(mu_);
  setup_ = std::move(parts.setup);
  waiting_ = parts.wait_for_boundary && setup_->rebinds();
  if (ledger_ != nullptr) {
    absl::optional<LedgerState> last =
        ledger_->TakeLastState(setup_->config.path);
    if (last && Resume(*last)) return;
    if (last && parts.running != nullptr) {
      pending_ = std::exchange(setup_, std::move(parts.running));
      if (Resume(*last)) return;
      setup_ = std::exchange(pending_, nullptr);
    }
  }
  Begin(Boundary{setup_->config.epoch_start, {}, ""});
}

void View::Publish() {
  const std::shared_ptr<const LiveEpoch> before = published_.Get();
  auto live = std::make_shared<LiveEpoch>();
  live->setup = setup_;
  live->binding = binding_;
  live->records = records_;
  live->lookups = watch_ != nullptr ? watch_->lookups()
                                    : std::make_shared<EpochLookups>(0);
  published_.Set(std::move(live));
  if (before != nullptr) before->lookups->End();
}

void View::CloseLookups() {
  const std::shared_ptr<const LiveEpoch> live = published_.Get();
  if (live != nullptr) live->lookups->Close();
}

std::shared_ptr<const LiveEpoch> View::Enter(std::atomic<bool>& asked) {
  for (;;) {
    std::shared_ptr<const LiveEpoch> live = published_.Get();
    if (!asked) asked = true;
    if (!live->lookups->WaitIfClosed()) return live;
  }
}

View::Found View::Lookup(EntryId name, int32_t pid) {
  const uint32_t reader = ReaderOf(pid);
  for (;;) {
    const std::shared_ptr<const LiveEpoch> live = Enter(looked_);
    if (!live->setup->rebinds()) return Found{name, false};
    const Binding& binding = *live->binding;
    const Grouping& grouping = binding.plan().dataset().grouping();
    if (!grouping.place(name)) return Found{name, false};
    BoundNames* const bound_names = binding.bound_names().get();
    const SampleId own = grouping.sample(name);
    if (bound_names != nullptr) bound_names->Bind(own);
    const EntryId shown = binding.Shown(name);
    const uint32_t ordinal = binding.OrdinalOf(own);
    // Lookups are remembered by what is looked up: nodes of one sample differ.
    const EpochLookups::Told told = live->lookups->Note(
        binding.repeats() ? own : grouping.sample(shown), reader);
    // A thread that was sent back opens what it is told: not of an epoch ago.
    if (told == EpochLookups::Told::kNothing) continue;
    return Found{shown, true, bound_names == nullptr,
                 told == EpochLookups::Told::kForLong, ordinal};
  }
}

std::shared_ptr<SampleMemory> View::MemoryOf(EntryId file, bool live) const {
  std::shared_ptr<const LiveEpoch> epoch = published_.Get();
  SampleMemory* const provider = epoch->ProviderOf(file, live);
  if (provider == nullptr) return nullptr;
  return std::shared_ptr<SampleMemory>(std::move(epoch), provider);
}

View::OpenVerdict View::Open(EntryId file, int32_t pid,
                             std::chrono::milliseconds now, uint32_t ordinal) {
  if (!Enter(read_)->WatchesOpensOf(file)) return OpenVerdict::kServe;
  uint64_t begun = 0;
  Counted counted;
  {
    MutexLock lock(mu_);
    read_ = true;  // it may be another epoch by now
    if (watch_ == nullptr) return OpenVerdict::kServe;
    const Grouping& grouping = setup_->dataset->grouping();
    if (!grouping.place(file)) return OpenVerdict::kServe;
    const SampleId sample = grouping.sample(file);
    // Looked up in an older epoch, opened in this one: the kernel is to look
    // again, once; who has no name to look up is served the second time.
    const uint32_t reader = ReaderOf(pid);
    const absl::optional<SampleId> name = binding_->NameAt(sample, ordinal);
    EpochWatch::Walk walk{sample, reader, now, told_ == begun_};
    if (binding_->repeats()) {
      walk.is_shown = name.has_value();
      walk.sample = name.value_or(sample);
    }
    if (!watch_->TakeLookup(walk)) return OpenVerdict::kStale;
    // Of an epoch before, and has no name in this one yet.
    if (!name) return OpenVerdict::kServe;
    const bool stopped = LearnNodes(reader, now);
    counted = Count(*name, reader, now);
    if (counted.began || stopped) begun = begun_;
    counted.doubted = watch_ != nullptr && watch_->WalksAreDue();
    if (counted.doubted) watch_->ShowWalks();
  }
  if (begun != 0) TellKernel(/*were_fixed=*/false, begun);
  if (counted.doubted && doubted_) doubted_();
  if (counted.settled && !counted.doubted && settled_) settled_();
  return counted.verdict;
}

View::Counted View::Count(SampleId name, uint32_t reader,
                          std::chrono::milliseconds now) {
  EpochWatch::Open open;
  open.name = name;
  open.group = setup_->dataset->grouping().group_of(open.name);
  open.reader = reader;
  open.now = now;
  const EpochWatch::Seen seen = watch_->NoteOpen(open);
  const EpochOutcome& outcome = seen.outcome;
  for (const uint64_t name : outcome.counted) {
    NoteConsumed(SampleId(name));
  }
  if (outcome.verdict == Verdict::kNone) {
    if (seen.fresh) NoteConsumed(open.name);
    if (!seen.fresh) NoteAgain(open.name, outcome);
  }
  if (seen.suspicion != Suspicion::kNone) Suspend(seen.suspicion);
  if (outcome.verdict == Verdict::kNone) return {};
  std::vector<uint64_t> keep = outcome.carried;
  // A reader in a fixed order opens the same name first in every epoch, and its
  // sample would come in each, beyond its share.
  const bool again =
      binding_->repeats() && outcome.begins_pass && watch_->MaySendBack(reader);
  if (again) std::erase(keep, open.name.value());
  if (outcome.verdict == Verdict::kHold) {
    // The pass did end; only somebody else still reads. That is reason not to
    // rebind unasked, but a switch was asked for. And what shows a part of the
    // samples would show that part for ever.
    if ((pending_ == nullptr || outcome.reason != HoldReason::kGuest) &&
        !binding_->repeats()) {
      Hold(outcome);
      return {.settled = watch_->HideWalks()};
    }
    keep = watch_->OpenedBefore();
  }
  for (const SampleId walked_to : watch_->TakeUnderWay()) {
    // Of mini-epochs these are names already.
    keep.push_back(binding_->repeats()
                       ? walked_to.value()
                       : binding_->NameOfSample(walked_to).value());
  }
  Begin(Boundary{Epoch(epoch_.value() + 1), PairsOf(std::move(keep)),
                 VerdictName(outcome.rule)});
  read_ = true;  // the open that showed the boundary is one of the new epoch
  if (!again) return {.began = true};
  if (watch_ != nullptr) watch_->SendBack(open.name, reader);
  return {.began = true, .verdict = OpenVerdict::kStale};
}

std::vector<CarriedPair> View::PairsOf(std::vector<uint64_t> names) const {
  absl::c_sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::vector<CarriedPair> pairs;
  pairs.reserve(names.size());
  for (const uint64_t name : names) {
    pairs.push_back(
        CarriedPair{name, binding_->ShownSample(SampleId(name)).value()});
  }
  return pairs;
}

void View::Hold(const EpochOutcome& outcome) {
  epoch_ = Epoch(epoch_.value() + 1);
  verdict_ = VerdictName(outcome.rule);
  const absl::string_view reason = HoldReasonName(outcome.reason);
  hold_reason_.assign(reason.data(), reason.size());
  is_held_ = true;
  if (held_++ == 0) {
    Log(LogLevel::kInfo,
        absl::StrCat("epoch held (", reason,
                     "): a pass ended, but the names "
                     "keep their samples; write epoch = \"next\" or set "
                     "epoch.length"));
  }
  noted_again_ = 0;
  const std::vector<CarriedPair> seen = Seen();
  if (ledger_ == nullptr) return;
  Note(ledger_->Hold(LedgerHold{static_cast<uint8_t>(id_), epoch_,
                                outcome.rule, hold_reason_},
                     binding_->bound_names() != nullptr, seen));
}

void View::Begin(Boundary boundary) {
  CloseLookups();
  std::shared_ptr<const ViewSetup> before;
  if (pending_ != nullptr) {
    // No key that decides which samples there are can change while mounted,
    // so what is carried is right under another policy too; but names that no
    // longer move would show it for ever.
    if (!pending_->rebinds()) boundary.carried.clear();
    before = std::exchange(setup_, std::exchange(pending_, nullptr));
  }
  epoch_ = boundary.epoch;
  verdict_ = std::move(boundary.verdict);
  hold_reason_.clear();
  is_held_ = false;
  const bool first = binding_ == nullptr;
  if (!first) waiting_ = false;
  const bool identity = waiting_ || !suspended_.empty() || NodesUnclear();
  const bool repeats = setup_->repeats() && !identity;
  CarriedNames carried = Carry(boundary.carried, repeats);
  if (before != nullptr) KeepServed(*before);
  if (repeats) GiveServed();
  Bind(epoch_, std::move(carried), identity, boundary.carried);
  ++begun_;
  if (first) told_ = begun_;  // nobody was given a name yet
  looked_ = read_ = false;
  if (watch_ != nullptr && !first) watch_->BeginEpoch();
  if (!counts_opens() || watch_ == nullptr ||
      watch_->options() != WatchOptions()) {
    MakeWatch();
    // What was looked up before leads elsewhere.
    if (watch_ != nullptr && !first) watch_->ForgetLookups();
  }
  NoteBegun(before.get());
  Publish();
}

void View::Bind(Epoch epoch, CarriedNames carried, bool identity,
                absl::Span<const CarriedPair> bound) {
  BindRecords(epoch);
  auto plan = std::make_shared<const Plan>(setup_->dataset, setup_->policy,
                                           setup_->config.seed, epoch);
  if (!setup_->binds_on_demand() || identity) {
    binding_ = std::make_shared<const Binding>(std::move(plan),
                                               std::move(carried), identity);
    if (setup_->ahead != nullptr) FollowLive();
    if (setup_->stages_ranks() && setup_->supply != nullptr) {
      setup_->supply->BeginEpoch(setup_->config.seed, epoch, {});
    }
    return;
  }
  setup_->supply->BeginEpoch(setup_->config.seed, epoch, bound);
  binding_ = std::make_shared<const Binding>(
      std::move(plan), std::move(carried), setup_->supply);
}

bool View::counts_opens() const { return sees_opens_ && setup_->rebinds(); }

EpochWatch::Options View::WatchOptions() const {
  const ViewConfig& config = setup_->config;
  EpochWatch::Options options;
  options.samples = setup_->dataset->grouping().sample_count();
  options.groups = setup_->dataset->grouping().group_count();
  options.finds_epochs = config.epoch_advance == Advance::kAuto;
  options.epoch_length = config.epoch_length;
  if (config.epoch_length == 0 && config.nodes && config.nodes->count > 1) {
    // A sampler gives each node as much, and repeats some to do so.
    options.epoch_length =
        (options.samples + config.nodes->count - 1) / config.nodes->count;
  }
  // Where samples repeat anyhow, one that is read to pad a pass does no harm.
  // Not what the binding does now: the watch would be made anew with it.
  options.epoch_pad = setup_->repeats() ? 1 : config.epoch_pad;
  options.double_open = config.epoch_double_open;
  return options;
}

void View::MakeWatch() {
  const std::unique_ptr<EpochWatch> before = std::move(watch_);
  if (!counts_opens()) return;
  watch_ = std::make_unique<EpochWatch>(WatchOptions(), *families_);
  if (before == nullptr) return;
  watch_->TakeSentBack(*before);
  watch_->Restore({.opened = before->OpenedBefore()});
}

void View::NoteRead() {
  if (!read_.load(std::memory_order_relaxed)) read_ = true;
  if (!ever_read_.load(std::memory_order_relaxed)) ever_read_ = true;
}

void View::NoteListing(std::chrono::milliseconds now) {
  if (!live()->lookups->wanted()) return;
  {
    MutexLock lock(mu_);
    if (watch_ == nullptr || !watch_->WalksAreDueTo(now)) return;
    watch_->ShowWalks();
  }
  if (doubted_) doubted_();
}

bool View::BindByListing() {
  MutexLock lock(mu_);
  if (told_ != begun_ || binding_->bound_names() != nullptr ||
      (watch_ != nullptr && !watch_->may_list())) {
    return false;
  }
  looked_ = true;
  if (watch_ != nullptr) watch_->NoteListed();
  return true;
}

void View::TellKernel(bool were_fixed, uint64_t begun) {
  rebound_(were_fixed);
  {
    MutexLock lock(mu_);
    told_ = std::max(told_, begun);
  }
  if (settled_) settled_();
}

bool View::ClosedUnread() {
  const std::shared_ptr<const LiveEpoch> live = published_.Get();
  live->lookups->Close();
  // Without opens a read of cached pages is not seen: a lookup may have led
  // to one, once there can be such pages.
  if (!read_ && (sees_opens_ || !ever_read_ || !looked_)) return true;
  live->lookups->Reopen();
  return false;
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
  if (prepared.setup->binds_on_demand() && !sees_opens_) {
    return absl::InvalidArgumentError(
        absl::StrCat("policy = ", prepared.setup->policy->name(),
                     " needs to see opens: mount with -o open=seen"));
  }
  return prepared;
}

void View::Install(Prepared prepared) {
  bool were_fixed = false;
  uint64_t begun = 0;
  {
    MutexLock lock(mu_);
    were_fixed = !setup_->rebinds();
    if (prepared.request.feedback && setup_->repeats()) {
      setup_->supply->Feedback(*prepared.request.feedback);
    }
    if (prepared.setup != nullptr) pending_ = std::move(prepared.setup);
    const ControlRequest& request = prepared.request;
    const bool moved = request.next_epoch || request.set_epoch.has_value();
    if (!moved && (pending_ == nullptr || !ClosedUnread())) return;
    Boundary boundary{epoch_, {}, verdict_};
    if (moved) {
      if (watch_ != nullptr) watch_->Signal();
      boundary.verdict = "signal";
      boundary.epoch = request.set_epoch.value_or(Epoch(epoch_.value() + 1));
    }
    Begin(std::move(boundary));
    begun = begun_;
  }
  TellKernel(were_fixed, begun);
}

ViewConfig View::config() const {
  MutexLock lock(mu_);
  return pending_ != nullptr ? pending_->config : setup_->config;
}

bool View::watches_opens() const {
  const std::shared_ptr<const LiveEpoch> live = published_.Get();
  return (live->setup->rebinds() || live->records != nullptr) &&
         live->setup->config.epoch_advance == Advance::kAuto;
}

}  // namespace shufflefs
