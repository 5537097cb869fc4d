// SPDX-License-Identifier: Apache-2.0
#include "core/pool/sample_producer.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

// The bytes that are asked of the device at a time. They keep any device busy,
// yet what is asked for last does not arrive much later.
constexpr uint64_t kLeastOnWay = 32 << 20;

}  // namespace

absl::StatusOr<std::shared_ptr<SampleProducer>> SampleProducer::Make(
    Parts parts) {
  const PoolMemory& memory = parts.memory;
  RETURN_IF_ERROR(memory.CheckLeast(kLeastMemory));
  RETURN_IF_ERROR(
      memory.bypass->Prepare(parts.dataset->catalogue().file_devices()));
  const std::vector<uint64_t>& bytes = parts.input->bytes;
  ASSIGN_OR_RETURN(
      std::unique_ptr<PoolShare> pool,
      memory.pool->Open({.name = memory.name,
                         .guarantee = memory.guarantee,
                         .most = absl::c_accumulate(bytes, uint64_t{0})}));
  std::shared_ptr<SampleProducer> producer(
      new SampleProducer(std::move(parts), std::move(pool)));
  producer->pool_->Follow(
      [weak = producer->weak_from_this()](uint64_t bytes) {
        if (const auto self = weak.lock()) self->GiveBack(bytes);
      },
      [weak = producer->weak_from_this()] {
        if (const auto self = weak.lock()) self->Refill();
      });
  return producer;
}

SampleProducer::SampleProducer(Parts parts, std::unique_ptr<PoolShare> pool)
    : dataset_(std::move(parts.dataset)),
      input_(std::move(parts.input)),
      how_(std::move(parts.how)),
      device_order_(parts.device_order),
      memory_bytes_(parts.memory.guarantee),
      stall_(parts.stall),
      source_(std::move(parts.source)),
      pool_(std::move(pool)),
      bypass_(std::move(parts.memory.bypass)),
      binder_(std::move(parts.binder)),
      served_(dataset_->grouping().sample_count()),
      sets_(std::move(parts.sets), dataset_, mu_, binder_->mini_epochs()) {}

void SampleProducer::BeginEpoch(Seed seed, Epoch epoch,
                                absl::Span<const NameBinding> bound) {
  {
    MutexLock lock(mu_);
    DropUnread(bound);
    binder_->BeginEpoch(seed, epoch, bound);
    served_.ClearAll();
    opened_.clear();
    DropUncounted();
    for (const NameBinding& pair : bound) served_.Set(pair.sample);
    ++epochs_;
  }
  Refill();
  sets_.TellRequests();
}

void SampleProducer::TakeShare(const std::vector<uint32_t>& chunks) {
  auto share = std::make_unique<BinderInput>(*input_);
  share->chunks.clear();
  for (const uint32_t chunk : chunks) {
    share->chunks.push_back(input_->chunks[chunk]);
  }
  MutexLock lock(mu_);
  std::vector<SampleId> all;
  for (const auto& [file, held] : held_) {
    if (held->counted) all.push_back(dataset_->grouping().sample(file));
  }
  for (const SampleId sample : all) LeaveSample(sample);
  binder_ = binder_->ForShare(*share);
  share_ = std::move(share);
}

SampleId SampleProducer::Bind(SampleId name) {
  SampleId sample(0);
  {
    MutexLock lock(mu_);
    sample = binder_->Bind(name);
  }
  sets_.TellRequests();
  return sample;
}

ProducerStatus SampleProducer::status() const {
  ProducerStatus status;
  status.memory_limit = pool_->pool_capacity();
  status.memory_guaranteed = memory_bytes_;
  status.pool_bytes = pool_->used();
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

void SampleProducer::Plan(Pieces& pieces) {
  if (!wanted_ || stopped_) return;
  const uint64_t most = std::max(kLeastOnWay, memory_bytes_ / 4);
  CloseReported();
  DropLingering();
  while (on_way_ < most) {
    // A job of one epoch would never read samples of the next epoch.
    if (binder_->fetched_all() && epochs_ < 2) return;
    const uint64_t room = pool_->Room();
    const uint64_t kept = binder_->kept();
    const std::vector<SampleId> samples =
        binder_->NextFetch(std::min(room - std::min(room, kept), most));
    if (samples.empty()) return;
    Start(samples, pieces);
  }
}

void SampleProducer::Start(const std::vector<SampleId>& samples,
                           Pieces& pieces) {
  const size_t first = pieces.size();
  for (const SampleId sample : samples) {
    bool started = true;
    for (uint32_t c = 0; c < Columns(sample) && started; ++c) {
      started = StartFile(Member(sample, c), /*counted=*/true, pieces);
    }
    if (!started) {
      // Its reader fetches it alone. The binder counts it as on its way, even
      // if none of its files found memory.
      if (!LeaveSample(sample)) binder_->Left(sample);
    } else if (SampleIsHere(sample)) {
      binder_->Arrived(sample);  // it was read alone before, and stayed
    }
  }
  if (device_order_ && first < pieces.size()) {
    pieces[first].place = 1 + binder_->ChunkOf(samples.front());
  }
}

bool SampleProducer::StartFile(EntryId file, bool counted, Pieces& pieces) {
  std::shared_ptr<Held> held = held_.Find(file);
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
  if (memory == nullptr) return false;
  held = std::make_shared<Held>();
  held->memory = std::move(memory);
  held->length = length;
  held->counted = counted;
  if (counted) on_way_ += Arena::Footprint(length);
  // Keeps this object and the memory until the file has arrived.
  pieces.push_back(held->Fetch(file, [self = shared_from_this(), file,
                                      held](const absl::Status& status) {
    self->Arrived(file, held, status);
  }));
  held_.Put(file, std::move(held));
  return true;
}

void SampleProducer::Refill() {
  Pieces pieces;
  {
    MutexLock lock(mu_);
    Plan(pieces);
  }
  if (!pieces.empty()) source_->Fetch(std::move(pieces));
}

bool SampleProducer::SampleIsHere(SampleId sample) const {
  for (uint32_t c = 0; c < Columns(sample); ++c) {
    if (!held_.IsHere(Member(sample, c))) return false;
  }
  return true;
}

void SampleProducer::Arrived(EntryId file, const std::shared_ptr<Held>& held,
                             const absl::Status& status) {
  std::vector<ReadWaiter> waiters;
  {
    MutexLock lock(mu_);
    if (held->counted) on_way_ -= Arena::Footprint(held->length);
    waiters = held->Arrive();
    if (absl::IsCancelled(status)) stopped_ = true;
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

void SampleProducer::Drop(EntryId file) {
  const std::shared_ptr<Held> held = held_.Find(file);
  if (held == nullptr) return;
  held_.Drop(file);
  if (!held->counted) return;
  // When the last of its files leaves, the sample is gone.
  const SampleId sample = dataset_->grouping().sample(file);
  for (uint32_t c = 0; c < Columns(sample); ++c) {
    const std::shared_ptr<Held> other = held_.Find(Member(sample, c));
    if (other != nullptr && other->counted) return;
  }
  binder_->Left(sample);
}

void SampleProducer::DropOrClose(EntryId file, Held& held) {
  if (held.here) {
    held_.Drop(file);
  } else {
    held.closed = held.waiters.empty();
  }
}

bool SampleProducer::LeaveSample(SampleId sample) {
  bool counted = false;
  for (uint32_t c = 0; c < Columns(sample); ++c) {
    const EntryId file = Member(sample, c);
    const std::shared_ptr<Held> held = held_.Find(file);
    if (held == nullptr || !held->counted) continue;
    counted = true;
    held->counted = false;
    if (!held->here) on_way_ -= Arena::Footprint(held->length);
    DropOrClose(file, *held);
  }
  if (counted) binder_->Left(sample);
  return counted;
}

void SampleProducer::DropLingering() {
  const uint64_t enough =
      std::min(kLeastOnWay, memory_bytes_ / 4) + binder_->kept();
  while (!lingering_.empty() && pool_->Room() < enough) {
    const EntryId file = lingering_.front();
    lingering_.pop_front();
    const std::shared_ptr<Held> held = held_.Find(file);
    // It may have left, and returned for the next epoch or for another name.
    if (held == nullptr || !held->here || KeptForNext(file, *held) ||
        !served_.Get(dataset_->grouping().sample(file).value())) {
      continue;
    }
    Drop(file);
  }
}

// No list but lingering_ knows them.
void SampleProducer::DropUncounted() {
  for (const EntryId file : lingering_) {
    const std::shared_ptr<Held> held = held_.Find(file);
    if (held != nullptr && !held->counted) DropOrClose(file, *held);
  }
  lingering_.clear();
}

uint64_t SampleProducer::FreeUncounted(uint64_t bytes) {
  uint64_t freed = 0;
  held_.DropSome(
      [&](EntryId, const std::shared_ptr<Held>& held) {
        if (!held->here || held->counted) return false;
        freed += Arena::Footprint(held->length);
        return true;
      },
      [&] { return freed >= bytes; });
  return freed;
}

void SampleProducer::GiveBack(uint64_t bytes) {
  MutexLock lock(mu_);
  bytes -= std::min(bytes, FreeUncounted(bytes));
  // If a name of this epoch shows a sample, a reader is about to read it, and
  // would have to read it alone. So these leave last.
  for (const bool shown : {false, true}) {
    std::vector<SampleId> leave;
    uint64_t freed = 0;
    for (const auto& [file, held] : held_) {
      if (freed >= bytes) break;
      const SampleId sample = dataset_->grouping().sample(file);
      if (!held->here || !held->counted) continue;
      if ((binder_->NameOf(sample) && !binder_->fetched_ahead(sample)) !=
          shown) {
        continue;
      }
      leave.push_back(sample);
      freed += Arena::Footprint(held->length);
    }
    for (const SampleId sample : leave) LeaveSample(sample);
    bytes -= std::min(bytes, freed);
  }
}

void SampleProducer::DropUnread(absl::Span<const NameBinding> bound) {
  const Grouping& grouping = dataset_->grouping();
  absl::flat_hash_set<uint64_t> retained;
  for (const NameBinding& pair : bound) retained.insert(pair.sample);
  std::vector<SampleId> unread;
  for (const auto& [file, held] : held_) {
    const SampleId sample = grouping.sample(file);
    if (held->counted && binder_->NameOf(sample) &&
        !binder_->fetched_ahead(sample) && !retained.contains(sample.value())) {
      unread.push_back(sample);
    }
  }
  for (const SampleId sample : unread) LeaveSample(sample);
}

}  // namespace shufflefs
