// SPDX-License-Identifier: Apache-2.0
#include "fs/tree/record_slots.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/status.h"

namespace shufflefs {

absl::StatusOr<uint32_t> RecordSlots::Take(
    std::shared_ptr<RecordEpoch> records) {
  MutexLock lock(mu_);
  const auto known = by_epoch_.find(records.get());
  if (known != by_epoch_.end()) {
    ++slots_[known->second].references;
    return known->second;
  }
  uint32_t slot = 0;
  if (!free_.empty()) {
    slot = free_.back();
    free_.pop_back();
  } else if (slots_.size() < limit_) {
    slot = static_cast<uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    return ErrnoStatus(ENOSPC, "too many epochs of records");
  }
  by_epoch_[records.get()] = slot;
  slots_[slot] = {std::move(records), 1};
  return slot;
}

void RecordSlots::Forget(uint32_t slot, uint64_t count) {
  // Destroyed without the lock, because it may free the memory of its files.
  std::shared_ptr<RecordEpoch> gone;
  MutexLock lock(mu_);
  if (slot >= slots_.size() || slots_[slot].references == 0) return;
  Slot& known = slots_[slot];
  known.references -= std::min(known.references, count);
  if (known.references > 0) return;
  by_epoch_.erase(known.records.get());
  gone = std::move(known.records);
  free_.push_back(slot);
}

std::shared_ptr<RecordEpoch> RecordSlots::At(uint32_t slot) const {
  MutexLock lock(mu_);
  return slot < slots_.size() ? slots_[slot].records : nullptr;
}

size_t RecordSlots::in_use() const {
  MutexLock lock(mu_);
  return by_epoch_.size();
}

}  // namespace shufflefs
