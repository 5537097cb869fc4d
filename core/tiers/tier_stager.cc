// SPDX-License-Identifier: Apache-2.0
#include "core/tiers/tier_stager.h"

#include <errno.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/io/make_reader.h"
#include "core/status.h"
#include "core/thread.h"

namespace shufflefs {
namespace {

constexpr char kInstead[] = "the source is read instead";

bool SamePlan(const std::weak_ptr<StagingPlan>& a,
              const std::shared_ptr<StagingPlan>& b) {
  return !a.owner_before(b) && !b.owner_before(a);
}

}  // namespace

// The directory while it can be used. The reader goes first.
struct TierStager::Place {
  Place(TierDir opened, const FileReaderOptions& options)
      : dir(std::move(opened)), reader(MakeFileReader(dir.files(), options)) {}
  TierDir dir;
  std::unique_ptr<FileReader> reader;
};

TierStager::TierStager(Tier::Options options, std::shared_ptr<TierReads> reads)
    : options_(std::move(options)),
      reads_(std::move(reads)),
      copy_(reads_, {options_.capacity, options_.bandwidth, options_.step_ahead,
                     options_.foreground_reads,
                     [this] { return WishesChanged(); }, options_.now}) {}

TierStager::~TierStager() { Stop(); }

absl::Status TierStager::Open() {
  absl::Status status = Enter();
  // Somebody else uses it; of a directory it carries an errno (ENOTDIR).
  if (absl::IsFailedPrecondition(status) && !ErrnoOf(status)) return status;
  if (!status.ok()) reads_->trouble().Begin(status, kInstead);
  return absl::OkStatus();
}

void TierStager::Start() {
  thread_ = StartThread("sfs-tier", [this](std::stop_token) { Run(); });
}

void TierStager::Stop() {
  reads_->signal().Stop();
  reads_->batches().Wake();
  if (thread_.joinable()) thread_.join();
  for (int i = 0; i < TierBatches::kBatches; ++i) reads_->batches().Shut(i);
  reads_->SetWishes(nullptr);
  LeaveDir();
}

void TierStager::Follow(std::weak_ptr<StagingPlan> plan) {
  {
    MutexLock lock(mu_);
    std::erase_if(plans_, [](const auto& old) { return old.expired(); });
    plans_.push_back(std::move(plan));
  }
  Changed();
}

void TierStager::Run() {
  TierSignal& signal = reads_->signal();
  while (!signal.stopped()) {
    const bool trouble = reads_->trouble().any();
    // Whatever happens meanwhile: a device that fails is left alone a while.
    if (trouble) signal.Sleep(options_.retry);
    if (signal.stopped()) return;
    (void)signal.Take();  // what it was is looked at now
    const absl::StatusOr<Next> next = Step();
    if (!next.ok()) {
      reads_->trouble().Begin(next.status(), kInstead);
      continue;
    }
    if (signal.stopped()) return;
    if (trouble) reads_->trouble().End();
    // Trouble of readers that began meanwhile is looked at after a while.
    if (*next == Next::kIdle && !reads_->trouble().any()) signal.Wait();
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
  const std::shared_ptr<StagingPlan> plan = Refresh();
  if (plan == nullptr) return Next::kIdle;
  RETURN_IF_ERROR(FreeUnwanted());
  for (size_t i = 0; i < wishes_->sets().size(); ++i) {
    const TierWishes::Set& set = wishes_->sets()[i];
    const TierRanges missing = Missing(set);
    if (missing.empty()) {
      if (told_.insert(set.number).second) plan->SetReady(set.number);
      continue;
    }
    told_.erase(set.number);
    if (Brought(missing)) return Next::kIdle;  // until these arrived
    ASSIGN_OR_RETURN(
        const TierCopy::Outcome outcome,
        copy_.Copy(place_->dir, missing, i >= wishes_->read_now()));
    // Nothing changes by itself where there is no room.
    return outcome == TierCopy::Outcome::kFull ? Next::kIdle : Next::kAgain;
  }
  return Next::kIdle;
}

absl::Status TierStager::Enter() {
  if (was_mountpoint_) {
    // Below an empty mountpoint lies a device that nobody meant.
    ASSIGN_OR_RETURN(const bool mounted, IsMountpoint(options_.path));
    if (!mounted) return ErrnoStatus(ENODEV, "is not mounted");
  }
  ASSIGN_OR_RETURN(TierDir dir, TierDir::Open(options_.path, options_.view));
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

std::shared_ptr<StagingPlan> TierStager::CurrentPlan(
    std::vector<uint64_t>& sets) {
  std::vector<std::weak_ptr<StagingPlan>> plans;
  {
    MutexLock lock(mu_);
    plans = plans_;
  }
  for (size_t i = plans.size(); i > 0; --i) {
    std::shared_ptr<StagingPlan> plan = plans[i - 1].lock();
    if (plan == nullptr) continue;
    sets = plan->WantedSets();
    if (!sets.empty()) return plan;
  }
  return nullptr;
}

std::shared_ptr<StagingPlan> TierStager::Refresh() {
  std::vector<uint64_t> sets;
  std::shared_ptr<StagingPlan> plan = CurrentPlan(sets);
  // Nothing is wanted yet, so nothing is unwanted: what an earlier run left
  // may be asked for soon.
  if (plan == nullptr) return nullptr;
  const bool same = wishes_ != nullptr && SamePlan(plan_, plan);
  if (same && wishes_->numbers() == sets) return plan;
  wishes_ = std::make_shared<const TierWishes>(reads_->catalogue(), *plan, sets,
                                               same ? wishes_.get() : nullptr);
  plan_ = plan;
  std::erase_if(told_, [&](uint64_t set) {
    return !same || std::find(sets.begin(), sets.end(), set) == sets.end();
  });
  // What could not be read is tried again when it is wanted anew.
  absl::erase_if(copy_.unreadable(), [this](const StagedRange& range) {
    return !wishes_->wants(range);
  });
  reads_->SetWishes(wishes_);
  return plan;
}

bool TierStager::WishesChanged() {
  TierSignal& signal = reads_->signal();
  if (!signal.Take()) return false;
  std::vector<uint64_t> sets;
  const std::shared_ptr<StagingPlan> plan = CurrentPlan(sets);
  if (plan != nullptr && SamePlan(plan_, plan) && sets == wishes_->numbers()) {
    return false;
  }
  signal.Raise();  // for who looks next
  return true;
}

absl::Status TierStager::FreeUnwanted() {
  RoomWanted room;
  room.capacity = options_.capacity;
  for (size_t i = 0; i < wishes_->sets().size(); ++i) {
    const TierRanges missing = Missing(wishes_->sets()[i]);
    for (size_t k = 0; k < missing.size(); ++k) {
      const uint64_t bytes = TierRoundUp(missing[k].length);
      room.missing += bytes;
      if (i < wishes_->read_now()) room.missing_first += bytes;
    }
  }
  TierStore& store = reads_->store();
  const auto uses = store.Uses(
      [this](const StagedRange& range) { return wishes_->WantedIn(range); });
  for (const uint64_t part : PartsToRemove(uses, room)) {
    store.Remove(part);
    const absl::Status removed = place_->dir.Remove({part, true});
    if (!removed.ok()) {
      LeaveDir();  // and count anew what is there
      return removed;
    }
  }
  return absl::OkStatus();
}

TierRanges TierStager::Missing(const TierWishes::Set& set) const {
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
