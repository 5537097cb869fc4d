// SPDX-License-Identifier: Apache-2.0
// Slots represent epochs in nodeids, which have no room for any 64-bit number.
// A slot belongs to an epoch for as long as the kernel knows a node with it,
// and then to another.
#ifndef SHUFFLEFS_FS_TREE_EPOCH_SLOTS_H_
#define SHUFFLEFS_FS_TREE_EPOCH_SLOTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "core/base/mutex.h"
#include "core/base/types.h"
#include "fs/model/node_id.h"

namespace shufflefs {

// Thread-safe.
class EpochSlots {
 public:
  // Above `crowd` slots the kernel should be asked to drop some, because it
  // keeps unused names until it is short of memory.
  explicit EpochSlots(size_t crowd = 4096, uint32_t limit = kSlotLimit)
      : crowd_(crowd), limit_(limit) {}

  // The epoch's slot, with one more reference: for a reply that gives the
  // kernel a node with it. ENOSPC if all are in use.
  absl::StatusOr<uint32_t> Take(Epoch epoch);
  // Adds a reference to a slot that has some.
  void TakeAgain(uint32_t slot);
  // The kernel returned `count` references.
  void Forget(uint32_t slot, uint64_t count);
  // REQUIRES: the slot has references.
  Epoch At(uint32_t slot) const;

  size_t in_use() const;
  // Called with no lock held when there are more than `crowd` slots, once until
  // TakeOldest is called. REQUIRES: set before the first Take.
  void SetCrowded(std::function<void()> crowded) {
    crowded_ = std::move(crowded);
  }
  // Half of the slots, those that were taken first. They count as the newest
  // from now on.
  std::vector<Epoch> TakeOldest();

 private:
  struct Slot {
    Epoch epoch;
    uint64_t references = 0;
    std::list<uint32_t>::iterator age;  // position in ages_
  };

  // Constant after construction, except crowded_.
  const size_t crowd_;
  const uint32_t limit_;
  std::function<void()> crowded_;

  mutable Mutex mu_;
  std::vector<Slot> slots_ ABSL_GUARDED_BY(mu_);
  std::vector<uint32_t> free_ ABSL_GUARDED_BY(mu_);
  std::list<uint32_t> ages_ ABSL_GUARDED_BY(mu_);  // slots in use, oldest first
  absl::flat_hash_map<Epoch, uint32_t> by_epoch_ ABSL_GUARDED_BY(mu_);
  bool warned_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_TREE_EPOCH_SLOTS_H_
