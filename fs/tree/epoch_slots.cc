// SPDX-License-Identifier: Apache-2.0
#include "fs/tree/epoch_slots.h"

#include <algorithm>
#include <cerrno>

#include "core/base/status.h"

namespace shufflefs {

absl::StatusOr<uint32_t> EpochSlots::Take(Epoch epoch) {
  uint32_t slot = 0;
  {
    MutexLock lock(mu_);
    const auto known = by_epoch_.find(epoch);
    if (known != by_epoch_.end()) {
      ++slots_[known->second].references;
      return known->second;
    }
    if (!free_.empty()) {
      slot = free_.back();
      free_.pop_back();
    } else if (slots_.size() < limit_) {
      slot = static_cast<uint32_t>(slots_.size());
      slots_.emplace_back();
    } else {
      return ErrnoStatus(ENOSPC, "too many epochs are in use by path");
    }
    slots_[slot] = {epoch, 1, ages_.insert(ages_.end(), slot)};
    by_epoch_[epoch] = slot;
    if (by_epoch_.size() <= crowd_ || warned_) return slot;
    warned_ = true;
  }
  if (crowded_) crowded_();
  return slot;
}

void EpochSlots::TakeAgain(uint32_t slot) {
  MutexLock lock(mu_);
  ++slots_[slot].references;
}

void EpochSlots::Forget(uint32_t slot, uint64_t count) {
  MutexLock lock(mu_);
  if (slot >= slots_.size() || slots_[slot].references == 0) return;
  Slot& known = slots_[slot];
  known.references -= std::min(known.references, count);
  if (known.references > 0) return;
  by_epoch_.erase(known.epoch);
  ages_.erase(known.age);
  free_.push_back(slot);
}

Epoch EpochSlots::At(uint32_t slot) const {
  MutexLock lock(mu_);
  return slot < slots_.size() ? slots_[slot].epoch : Epoch(0);
}

size_t EpochSlots::in_use() const {
  MutexLock lock(mu_);
  return by_epoch_.size();
}

std::vector<Epoch> EpochSlots::TakeOldest() {
  MutexLock lock(mu_);
  warned_ = false;
  std::vector<Epoch> oldest;
  for (size_t left = by_epoch_.size() / 2; left > 0; --left) {
    oldest.push_back(slots_[ages_.front()].epoch);
    ages_.splice(ages_.end(), ages_, ages_.begin());
  }
  return oldest;
}

}  // namespace shufflefs
