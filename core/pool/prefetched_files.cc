// SPDX-License-Identifier: Apache-2.0
#include "core/pool/prefetched_files.h"

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

// The bytes of all files in the pool.
uint64_t MostBytes(const Catalogue& catalogue) {
  return catalogue.total_bytes() + catalogue.file_count() * Arena::kPage;
}

}  // namespace

absl::StatusOr<std::shared_ptr<PrefetchedFiles>> PrefetchedFiles::Make(
    Parts parts) {
  const PoolMemory& memory = parts.memory;
  RETURN_IF_ERROR(memory.CheckLeast(kLeastMemory));
  RETURN_IF_ERROR(memory.bypass->Prepare(parts.catalogue->file_devices()));
  ASSIGN_OR_RETURN(std::unique_ptr<PoolShare> pool,
                   memory.pool->Open({.name = memory.name,
                                      .guarantee = memory.guarantee,
                                      .most = MostBytes(*parts.catalogue)}));
  std::shared_ptr<PrefetchedFiles> files(
      new PrefetchedFiles(std::move(parts), std::move(pool)));
  files->pool_->Follow([weak = files->weak_from_this()](uint64_t bytes) {
    if (const auto self = weak.lock()) self->GiveBack(bytes);
  });
  return files;
}

PrefetchedFiles::PrefetchedFiles(Parts parts, std::unique_ptr<PoolShare> pool)
    : catalogue_(std::move(parts.catalogue)),
      memory_bytes_(parts.memory.guarantee),
      stall_(parts.stall),
      source_(std::move(parts.source)),
      pool_(std::move(pool)),
      bypass_(std::move(parts.memory.bypass)) {}

bool PrefetchedFiles::MayHold(EntryId file) const {
  const uint64_t bytes = catalogue_->file_size(file);
  return bytes > 0 && bytes <= memory_bytes_ / 8;
}

bool PrefetchedFiles::Start(EntryId file, Owner owner, Pieces& pieces) {
  const uint64_t length = catalogue_->file_size(file);
  auto held = std::make_shared<Held>();
  held->memory = pool_->Allocate(length);
  if (held->memory == nullptr) return false;
  held->owner = owner;
  held->length = length;
  pieces.push_back(held->Fetch(file, [self = shared_from_this(), file,
                                      held](const absl::Status& status) {
    self->Arrived(file, held, status);
  }));
  MutexLock lock(mu_);
  held_.Put(file, std::move(held));
  ++coming_;
  return true;
}

bool PrefetchedFiles::IsResident(EntryId file) const {
  MutexLock lock(mu_);
  return held_.Has(file);
}

bool PrefetchedFiles::IsHere(EntryId file) const {
  MutexLock lock(mu_);
  return held_.IsHere(file);
}

void PrefetchedFiles::Read(EntryId file, uint64_t offset, uint64_t length,
                           ContentProvider::ReadDone done) {
  ReadWaiter waiter =
      BypassReads::Clip(*catalogue_, file, {offset, length, std::move(done)});
  if (waiter.length == 0) {
    waiter.done(absl::Span<const iovec>());
    return;
  }
  std::shared_ptr<Held> held;
  {
    MutexLock lock(mu_);
    held = held_.Find(file);
    if (held != nullptr && !held->here) {
      held->waiters.push_back(std::move(waiter));
      if (stall_ != nullptr) stall_->Enter();
      return;
    }
  }
  if (held == nullptr) {  // it left since IsResident returned true
    bypass_->Read(source_, file, std::move(waiter));
    return;
  }
  Deliver(file, held, waiter);
  if (stall_ != nullptr) stall_->Served();
}

void PrefetchedFiles::Deliver(EntryId file, const std::shared_ptr<Held>& held,
                              const ReadWaiter& waiter) {
  held->Answer(waiter);
  MutexLock lock(mu_);
  // By now the file may be held again.
  if (held->Deliver(waiter.length)) held_.Drop(file, *held);
}

bool PrefetchedFiles::Close(EntryId file) {
  MutexLock lock(mu_);
  const std::shared_ptr<Held> held = held_.Find(file);
  // Only a part of it was read, and no more will be.
  if (held == nullptr || held->delivered == 0) return false;
  held_.Drop(file);
  return true;
}

void PrefetchedFiles::Reclaim(
    const std::function<bool(const Owner&)>& is_awaited) {
  uint64_t wasted = 0;
  MutexLock lock(mu_);
  held_.DropIf([&](EntryId, const std::shared_ptr<Held>& held) {
    // A file on its way cannot be called back.
    if (!held->here || is_awaited(held->owner)) return false;
    if (held->delivered == 0) wasted += held->length;
    return true;
  });
  wasted_ += wasted;
}

void PrefetchedFiles::GiveBack(uint64_t bytes) {
  uint64_t wasted = 0;
  MutexLock lock(mu_);
  // A file that a reader has begun to read leaves last.
  for (const bool begun : {false, true}) {
    held_.DropSome(
        [&](EntryId, const std::shared_ptr<Held>& held) {
          if (!held->here || (held->delivered > 0) != begun) return false;
          if (!begun) wasted += held->length;
          bytes -= std::min(bytes, Arena::Footprint(held->length));
          return true;
        },
        [&] { return bytes == 0; });
  }
  wasted_ += wasted;
}

void PrefetchedFiles::Arrived(EntryId file, const std::shared_ptr<Held>& held,
                              const absl::Status& status) {
  std::vector<ReadWaiter> waiters;
  {
    MutexLock lock(mu_);
    waiters = held->Arrive();
    --coming_;
    if (absl::IsCancelled(status)) stopped_ = true;
    if (status.ok()) {
      fetched_ += held->length;
    } else {
      held_.Drop(file, *held);
    }
  }
  for (const ReadWaiter& waiter : waiters) {
    if (status.ok()) {
      Deliver(file, held, waiter);
    } else {
      waiter.done(status);
    }
    if (stall_ != nullptr) stall_->Leave();
  }
}

uint64_t PrefetchedFiles::coming() const {
  MutexLock lock(mu_);
  return coming_;
}

bool PrefetchedFiles::stopped() const {
  MutexLock lock(mu_);
  return stopped_;
}

uint64_t PrefetchedFiles::fetched_bytes() const {
  MutexLock lock(mu_);
  return fetched_;
}

uint64_t PrefetchedFiles::wasted_bytes() const {
  MutexLock lock(mu_);
  return wasted_;
}

ProducerStatus PrefetchedFiles::status() const {
  ProducerStatus status;
  status.memory_limit = pool_->pool_capacity();
  status.memory_guaranteed = memory_bytes_;
  status.pool_bytes = pool_->used();
  status.source_bytes = source_->bytes_read();
  status.source_reads = source_->reads();
  status.how = source_->how();
  return status;
}

}  // namespace shufflefs
