// SPDX-License-Identifier: Apache-2.0
#include "core/staging/stager/tier_stager.h"

#include <errno.h>

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "core/base/status.h"
#include "core/base/thread.h"
#include "core/io/make_reader.h"

namespace shufflefs {
namespace {

constexpr char kInstead[] = "the source is read instead";

}  // namespace

// The directory while it can be used. The reader is destroyed first.
struct TierStager::Place {
  Place(TierDir opened, const FileReaderOptions& options)
      : dir(std::move(opened)), reader(MakeFileReader(dir.files(), options)) {}
  TierDir dir;
  std::unique_ptr<FileReader> reader;
};

TierStager::TierStager(Tier::Options options, std::shared_ptr<TierReads> reads)
    : options_(std::move(options)),
      reads_(std::move(reads)),
      plans_(reads_),
      copy_(reads_, {options_.capacity, options_.bandwidth, options_.step_ahead,
                     options_.foreground_reads,
                     [this] { return RequestsChanged(); }, options_.now}) {}

TierStager::~TierStager() { Stop(); }

absl::Status TierStager::Open() {
  absl::Status status = Enter();
  // Another process uses it. An error of the directory itself carries an errno
  // (ENOTDIR).
  if (absl::IsFailedPrecondition(status) && !ErrnoOf(status)) return status;
  if (!status.ok()) reads_->health().Begin(status, kInstead);
  return absl::OkStatus();
}

void TierStager::Start() {
  thread_ = StartThread("sfs-tier", [this](std::stop_token) { Run(); });
}

void TierStager::Stop() {
  reads_->signal().Stop();
  reads_->batches().Wake();
  if (thread_.joinable()) thread_.join();
  TierBatches& batches = reads_->batches();
  for (int i = 0; i < batches.count(); ++i) batches.Shut(i);
  reads_->SetRequests(nullptr);
  PendingDeletes& pending_deletes = copy_.pending_deletes();
  while (!pending_deletes.empty() &&
         pending_deletes.RemoveOne(place_->dir).ok()) {
  }
  LeaveDir();
}

void TierStager::Follow(std::weak_ptr<StagingPlan> plan) {
  plans_.Follow(std::move(plan));
  Changed();
}

void TierStager::Run() {
  TierSignal& signal = reads_->signal();
  while (!signal.stopped()) {
    const bool failing = reads_->health().any();
    // Sleeps even if something is raised: a device that fails gets a pause.
    if (failing) signal.Sleep(options_.retry);
    if (signal.stopped()) return;
    (void)signal.Take();  // Step looks at what was raised
    const absl::StatusOr<Next> next = Step();
    if (!next.ok()) {
      reads_->health().Begin(next.status(), kInstead);
      continue;
    }
    if (signal.stopped()) return;
    if (failing) reads_->health().End();
    // Readers' trouble that began meanwhile is handled after a pause.
    if (*next == Next::kIdle && !reads_->health().any() && RemovePending()) {
      signal.Wait();
    }
  }
}

absl::StatusOr<TierStager::Next> TierStager::Step() {
  if (place_ != nullptr) {
    const absl::Status there = place_->dir.StillThere();
    if (!there.ok()) {
      LeaveDir();
      return there;
    }
  }
  if (place_ == nullptr) RETURN_IF_ERROR(Enter());
  // Before sets are reported ready, because then readers want the next ones.
  copy_.OpenForReaders();
  const std::shared_ptr<StagingPlan> plan = Refresh();
  if (plan == nullptr) return Next::kIdle;
  FreeUnwanted(*plan);
  for (size_t i = 0; i < requests_->sets().size(); ++i) {
    const StagingRequests::Set& set = requests_->sets()[i];
    const TierRanges missing = Missing(set);
    if (missing.empty()) {
      if (notified_.insert(set.number).second) plan->SetReady(set.number);
      continue;
    }
    notified_.erase(set.number);
    if (Brought(missing)) return Next::kIdle;  // until these have arrived
    ASSIGN_OR_RETURN(
        const TierCopy::Outcome outcome,
        copy_.Copy(place_->dir, missing, i >= requests_->read_now()));
    // If there is no room, nothing changes by itself.
    return outcome == TierCopy::Outcome::kFull ? Next::kIdle : Next::kAgain;
  }
  return Next::kIdle;
}

absl::Status TierStager::Enter() {
  if (was_mountpoint_) {
    // An empty mount point shows another device, which nobody meant to use.
    ASSIGN_OR_RETURN(const bool mounted,
                     IsMountpoint(options_.path, options_.reach));
    if (!mounted) return ErrnoStatus(ENODEV, "is not mounted");
  }
  ASSIGN_OR_RETURN(TierDir dir,
                   TierDir::Open(options_.path, options_.view, options_.reach));
  RETURN_IF_ERROR(TakeUp(dir));
  was_mountpoint_ = dir.on_mountpoint();
  place_ = std::make_unique<Place>(std::move(dir), options_.reader);
  reads_->Attach(place_->reader.get());
  return absl::OkStatus();
}

void TierStager::LeaveDir() {
  if (place_ == nullptr) return;
  reads_->store().Clear();
  reads_->Detach();
  place_->reader->Cancel();
  copy_.pending_deletes().Forget();
  place_.reset();
}

absl::Status TierStager::TakeUp(TierDir& dir) {
  TierStore& store = reads_->store();
  store.Clear();
  ASSIGN_OR_RETURN(const std::vector<TierName> names, dir.List());
  for (const TierName& name : names) {
    std::shared_ptr<const StagedPart> part;
    if (name.finished) {
      const absl::StatusOr<TierDir::Part> read = dir.Read(name.id);
      if (read.ok()) {
        part = StagedPart::Of(name.id, read->bytes, read->table,
                              reads_->catalogue());
      }
    }
    if (part == nullptr || part->bytes + store.bytes() > options_.capacity) {
      const absl::Status removed = dir.Remove(name);
      if (!removed.ok()) {
        store.Clear();
        return removed;
      }
      continue;
    }
    store.Add(std::move(part));
  }
  return absl::OkStatus();
}

std::shared_ptr<StagingPlan> TierStager::Refresh() {
  TierPlans::Wanted wanted = plans_.Ask();
  if (wanted.plan == nullptr) return nullptr;
  if (wanted.requests == requests_) return std::move(wanted.plan);
  const bool same = SamePlan(plan_, wanted.plan);
  requests_ = std::move(wanted.requests);
  plan_ = wanted.plan;
  const std::vector<uint64_t> sets = requests_->numbers();
  std::erase_if(notified_, [&](uint64_t set) {
    return !same || std::find(sets.begin(), sets.end(), set) == sets.end();
  });
  // What could not be read is tried again when it is wanted anew.
  absl::erase_if(copy_.unreadable(), [this](const StagedRange& range) {
    return !requests_->wants(range);
  });
  return std::move(wanted.plan);
}

bool TierStager::RequestsChanged() {
  TierSignal& signal = reads_->signal();
  if (!signal.Take()) return false;
  if (plans_.Ask().requests == requests_) return false;
  signal.Raise();  // for the next check
  return true;
}

void TierStager::AskNow() {
  (void)plans_.Ask();
  Changed();
}

// Returns whether all are removed and nothing else is to be done.
bool TierStager::RemovePending() {
  PendingDeletes& pending_deletes = copy_.pending_deletes();
  while (!pending_deletes.empty()) {
    if (reads_->signal().raised()) return false;
    const absl::Status removed = pending_deletes.RemoveOne(place_->dir);
    if (!removed.ok()) {
      LeaveDir();  // and counts anew what is there
      reads_->health().Begin(removed, kInstead);
      return false;
    }
  }
  return true;
}

void TierStager::FreeUnwanted(const StagingPlan& plan) {
  RoomWanted room;
  room.capacity = options_.capacity;
  room.keep = plan.sets_return();
  for (size_t i = 0; i < requests_->sets().size(); ++i) {
    const TierRanges missing = Missing(requests_->sets()[i]);
    for (size_t k = 0; k < missing.size(); ++k) {
      const uint64_t bytes = TierRoundUp(missing[k].length);
      room.missing += bytes;
      if (i < requests_->read_now()) room.missing_first += bytes;
    }
  }
  TierStore& store = reads_->store();
  const auto uses = store.Uses(
      [this](const StagedRange& range) { return requests_->WantedIn(range); });
  absl::flat_hash_map<uint64_t, uint64_t> bytes;
  for (const PartUse& use : uses) bytes[use.id] = use.bytes;
  for (const uint64_t part : PartsToRemove(uses, room)) {
    if (store.Remove(part)) copy_.pending_deletes().Add(part, bytes[part]);
  }
}

TierRanges TierStager::Missing(const StagingRequests::Set& set) const {
  TierRanges missing(reads_->catalogue());
  for (size_t i = 0; i < set.ranges->size(); ++i) {
    const StagedRange range = (*set.ranges)[i];
    if (!reads_->store().Has(range) && !copy_.is_unreadable(range)) {
      missing.Append(range);
    }
  }
  return missing;
}

bool TierStager::Brought(const TierRanges& missing) const {
  for (size_t i = 0; i < missing.size(); ++i) {
    if (!reads_->batches().IsCaptured(missing[i])) return false;
  }
  return true;
}

}  // namespace shufflefs
