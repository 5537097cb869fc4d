// SPDX-License-Identifier: Apache-2.0
#include "core/pool/supply.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

// The bytes that are asked of the device at a time. They keep any device busy,
// yet what is asked for last does not arrive much later.
constexpr uint64_t kLeastOnWay = 32 << 20;

uint64_t SpareBytes(uint64_t memory_bytes) {
  return std::clamp<uint64_t>(memory_bytes / 16, 2 << 20, 16 << 20);
}

}  // namespace

uint64_t Supply::PoolBytes(uint64_t memory_bytes) {
  return memory_bytes - SpareBytes(memory_bytes);
}

absl::StatusOr<std::shared_ptr<Supply>> Supply::Make(Parts parts) {
  if (parts.memory_bytes < kLeastMemory) {
    return absl::InvalidArgumentError(
        absl::StrCat("memory: ", parts.memory_bytes, " bytes; at least ",
                     kLeastMemory, " are needed"));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<Arena> pool,
                   Arena::Make(PoolBytes(parts.memory_bytes)));
  std::shared_ptr<SampleSource> source = std::move(parts.source);
  ASSIGN_OR_RETURN(
      std::shared_ptr<LoneReads> bypasses,
      LoneReads::Make(SpareBytes(parts.memory_bytes), source, parts.stall));
  return std::shared_ptr<Supply>(new Supply(std::move(parts), std::move(pool),
                                            std::move(source),
                                            std::move(bypasses)));
}

Supply::Supply(Parts parts, std::unique_ptr<Arena> pool,
               std::shared_ptr<SampleSource> source,
               std::shared_ptr<LoneReads> bypasses)
    : dataset_(std::move(parts.dataset)),
      input_(std::move(parts.input)),
      how_(std::move(parts.how)),
      memory_bytes_(parts.memory_bytes),
      stall_(parts.stall),
      repeats_(parts.binder->mini_epochs() != nullptr),
      wishes_changed_(std::move(parts.wishes_changed)),
      addresses_(std::move(parts.addresses)),
      tier_(std::move(parts.tier)),
      source_(std::move(source)),
      pool_(std::move(pool)),
      bypasses_(std::move(bypasses)),
      binder_(std::move(parts.binder)),
      served_(dataset_->grouping().sample_count()) {}

void Supply::BeginEpoch(Seed seed, Epoch epoch,
                        absl::Span<const CarriedPair> bound) {
  {
    MutexLock lock(mu_);
    DropUnread(bound);
    binder_->BeginEpoch(seed, epoch, bound);
    served_.ClearAll();
    lingering_.clear();
    for (const CarriedPair& pair : bound) served_.Set(pair.sample);
    ++epochs_;
  }
  Refill();
  TellWishes();
}

SampleId Supply::Bind(SampleId name) {
  SampleId sample(0);
  {
    MutexLock lock(mu_);
    sample = binder_->Bind(name);
  }
  TellWishes();
  return sample;
}

absl::optional<SampleId> Supply::Bound(SampleId name) const {
  MutexLock lock(mu_);
  return binder_->Bound(name);
}

absl::optional<SampleId> Supply::NameOf(SampleId sample) const {
  MutexLock lock(mu_);
  return binder_->NameOf(sample);
}

SupplyStatus Supply::status() const {
  SupplyStatus status;
  status.memory_limit = memory_bytes_;
  status.pool_bytes = pool_->used() + bypasses_->used();
  status.source_bytes = source_->bytes_read();
  status.source_reads = source_->reads();
  status.how = absl::StrCat(how_, "; ", source_->how());
  MutexLock lock(mu_);
  const BinderCounts counts = binder_->counts();
  status.hits = counts.hits;
  status.misses = counts.misses;
  status.chunk_loads = counts.chunk_loads;
  if (counts.chunk_samples > 0) {
    status.fill_rate = static_cast<double>(counts.loaded) /
                       static_cast<double>(counts.chunk_samples);
  }
  status.bypass = bypassed_;
  return status;
}

uint64_t Supply::Room() const { return pool_->capacity() - pool_->used(); }

uint32_t Supply::Columns(SampleId sample) const {
  return dataset_->grouping().columns(sample);
}

EntryId Supply::Member(SampleId sample, uint32_t column) const {
  return dataset_->grouping().member(sample, column);
}

void Supply::Plan(Pieces& pieces) {
  if (!wanted_ || stopped_) return;
  const uint64_t most = std::max(kLeastOnWay, pool_->capacity() / 4);
  DropLingering();
  while (on_way_ < most) {
    // A job of one epoch would never read samples of the next epoch.
    if (binder_->fetched_all() && epochs_ < 2) return;
    const std::vector<SampleId> samples =
        binder_->NextFetch(std::min(Room(), most));
    if (samples.empty()) return;
    Start(samples, pieces);
  }
}

void Supply::Start(const std::vector<SampleId>& samples, Pieces& pieces) {
  for (const SampleId sample : samples) {
    bool started = true;
    for (uint32_t c = 0; c < Columns(sample) && started; ++c) {
      started = StartFile(Member(sample, c), /*counted=*/true, pieces);
    }
    if (!started) {
      LeaveSample(sample);  // its reader fetches it alone
    } else if (SampleIsHere(sample)) {
      binder_->Arrived(sample);  // it was read alone before, and stayed
    }
  }
}

bool Supply::StartFile(EntryId file, bool counted, Pieces& pieces) {
  std::shared_ptr<Held>& held = held_[file];
  if (held != nullptr) {  // read alone, or left from an earlier epoch
    if (counted && !held->counted) {
      held->counted = true;
      held->delivered = 0;
      if (!held->here) on_way_ += Arena::Footprint(held->length);
    }
    held->closed = false;
    return true;
  }
  const uint64_t length = dataset_->catalogue().attributes(file).size;
  std::unique_ptr<MemoryBlock> memory = pool_->Allocate(length);
  if (memory == nullptr) {
    held_.erase(file);
    return false;
  }
  held = std::make_shared<Held>();
  held->memory = std::move(memory);
  held->length = length;
  held->counted = counted;
  if (counted) on_way_ += Arena::Footprint(length);
  FilePiece piece;
  piece.file = file;
  piece.length = length;
  piece.into = held->memory->pieces();
  // Keeps this object and the memory until the file has arrived.
  piece.done = [self = shared_from_this(), file,
                held = held](const absl::Status& status) {
    self->Arrived(file, held, status);
  };
  pieces.push_back(std::move(piece));
  return true;
}

void Supply::Refill() {
  Pieces pieces;
  {
    MutexLock lock(mu_);
    Plan(pieces);
  }
  if (!pieces.empty()) source_->Fetch(std::move(pieces));
}

bool Supply::SampleIsHere(SampleId sample) const {
  for (uint32_t c = 0; c < Columns(sample); ++c) {
    const auto found = held_.find(Member(sample, c));
    if (found == held_.end() || !found->second->here) return false;
  }
  return true;
}

void Supply::Arrived(EntryId file, const std::shared_ptr<Held>& held,
                     const absl::Status& status) {
  std::vector<ReadWaiter> waiters;
  {
    MutexLock lock(mu_);
    if (held->counted) on_way_ -= Arena::Footprint(held->length);
    held->here = true;
    if (absl::IsCancelled(status)) stopped_ = true;
    waiters.swap(held->waiters);
    const SampleId sample = dataset_->grouping().sample(file);
    if (!status.ok() || held->closed) {
      Drop(file);
    } else if (held->counted && SampleIsHere(sample)) {
      binder_->Arrived(sample);
    }
  }
  for (const ReadWaiter& waiter : waiters) {
    if (status.ok()) {
      Deliver(file, held, waiter);
    } else {
      waiter.done(status);
    }
    Waited();
  }
  Refill();
}

void Supply::Drop(EntryId file) {
  const auto found = held_.find(file);
  if (found == held_.end()) return;
  const bool counted = found->second->counted;
  held_.erase(found);
  if (!counted) return;
  // When the last of its files leaves, the sample is gone.
  const SampleId sample = dataset_->grouping().sample(file);
  for (uint32_t c = 0; c < Columns(sample); ++c) {
    const auto other = held_.find(Member(sample, c));
    if (other != held_.end() && other->second->counted) return;
  }
  binder_->Left(sample);
}

void Supply::LeaveSample(SampleId sample) {
  bool counted = false;
  for (uint32_t c = 0; c < Columns(sample); ++c) {
    const EntryId file = Member(sample, c);
    const auto found = held_.find(file);
    if (found == held_.end() || !found->second->counted) continue;
    counted = true;
    if (found->second->here) {
      held_.erase(found);
      continue;
    }
    // It is on its way and cannot be called back.
    on_way_ -= Arena::Footprint(found->second->length);
    found->second->counted = false;
    found->second->closed = found->second->waiters.empty();
  }
  if (counted) binder_->Left(sample);
}

void Supply::DropLingering() {
  const uint64_t enough = std::min(kLeastOnWay, pool_->capacity() / 4);
  while (!lingering_.empty() && Room() < enough) {
    const EntryId file = lingering_.front();
    lingering_.pop_front();
    const auto found = held_.find(file);
    // It may have left, and returned for the next epoch or for another name.
    if (found == held_.end() || !found->second->here ||
        KeptForNext(file, *found->second) ||
        !served_.Get(dataset_->grouping().sample(file).value())) {
      continue;
    }
    Drop(file);
  }
}

void Supply::DropUnread(absl::Span<const CarriedPair> bound) {
  const Grouping& grouping = dataset_->grouping();
  absl::flat_hash_set<uint64_t> carried;
  for (const CarriedPair& pair : bound) carried.insert(pair.sample);
  std::vector<SampleId> unread;
  for (const auto& [file, held] : held_) {
    const SampleId sample = grouping.sample(file);
    if (held->counted && binder_->NameOf(sample) &&
        !binder_->fetched_ahead(sample) && !carried.contains(sample.value())) {
      unread.push_back(sample);
    }
  }
  for (const SampleId sample : unread) LeaveSample(sample);
}

}  // namespace shufflefs
