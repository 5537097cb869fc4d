// SPDX-License-Identifier: Apache-2.0
// How what was read ahead answers readers.
#include <algorithm>
#include <utility>

#include "core/supply/read_ahead.h"

namespace shufflefs {

bool ReadAhead::Answers(EntryId file) {
  const SampleId sample = dataset_->grouping().sample(file);
  bool held = false;
  {
    MutexLock lock(mu_);
    held = held_.contains(file);
    if (last_noted_ == sample) return held;
    last_noted_ = sample;
    ++(held ? hits_ : misses_);
    Note(sample);
  }
  if (!held) Fill();
  return held;
}

bool ReadAhead::Holds(EntryId file) const {
  MutexLock lock(mu_);
  return held_.contains(file);
}

void ReadAhead::Read(EntryId file, uint64_t offset, uint64_t length,
                     ReadDone done) {
  const uint64_t size = dataset_->catalogue().attributes(file).size;
  if (offset >= size || length == 0) {
    done(absl::Span<const iovec>());
    return;
  }
  ReadWaiter waiter{offset,
                    std::min({length, size - offset, LoneReads::kLongestRead}),
                    std::move(done)};
  std::shared_ptr<Held> held;
  {
    MutexLock lock(mu_);
    const auto found = held_.find(file);
    if (found != held_.end()) held = found->second;
    if (held != nullptr && !held->here) {
      held->waiters.push_back(std::move(waiter));
      if (stall_ != nullptr) stall_->Enter();
      return;
    }
  }
  if (held == nullptr) {  // gone since Answers said that it was here
    others_->Read(file, std::move(waiter));
    return;
  }
  Deliver(file, held, waiter);
  if (stall_ != nullptr) stall_->Served();
  Fill();
}

void ReadAhead::Deliver(EntryId file, const std::shared_ptr<Held>& held,
                        const ReadWaiter& waiter) {
  const std::vector<iovec> range =
      held->memory->Range(waiter.offset, waiter.length);
  waiter.done(absl::Span<const iovec>(range));
  MutexLock lock(mu_);
  held->delivered += waiter.length;
  const auto found = held_.find(file);
  // By now the file may be held anew.
  if (held->delivered >= held->length && found != held_.end() &&
      found->second == held) {
    held_.erase(found);
  }
}

void ReadAhead::Close(EntryId file) {
  {
    MutexLock lock(mu_);
    const auto found = held_.find(file);
    // Read in part, and no more of it will be.
    if (found == held_.end() || found->second->delivered == 0) return;
    held_.erase(found);
  }
  Fill();
}

void ReadAhead::Fill() {
  Pieces pieces;
  {
    MutexLock lock(mu_);
    Plan(pieces);
  }
  if (!pieces.empty()) source_->Fetch(std::move(pieces));
}

void ReadAhead::Arrived(EntryId file, const std::shared_ptr<Held>& held,
                        const absl::Status& status) {
  std::vector<ReadWaiter> waiters;
  {
    MutexLock lock(mu_);
    held->here = true;
    waiters.swap(held->waiters);
    if (absl::IsCancelled(status)) stopped_ = true;
    const auto found = held_.find(file);
    if (!status.ok() && found != held_.end() && found->second == held) {
      held_.erase(found);
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
  if (!waiters.empty()) Fill();
}

}  // namespace shufflefs
