// SPDX-License-Identifier: Apache-2.0
// Slots represent epochs of records in the nodeids of containers. A slot
// belongs to an epoch, and holds it, for as long as the kernel knows a node
// with it (a descriptor may read on), and then belongs to another.
#ifndef SHUFFLEFS_FS_TREE_RECORD_SLOTS_H_
#define SHUFFLEFS_FS_TREE_RECORD_SLOTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "core/base/mutex.h"
#include "core/records/epoch/record_epoch.h"
#include "fs/model/node_id.h"

namespace shufflefs {

// Thread-safe.
class RecordSlots {
 public:
  explicit RecordSlots(uint32_t limit = kSlotLimit) : limit_(limit) {}

  // The epoch's slot, with one more reference: for a reply that gives the
  // kernel a node with it. ENOSPC if all are in use.
  absl::StatusOr<uint32_t> Take(std::shared_ptr<RecordEpoch> records);
  // The kernel returned `count` references.
  void Forget(uint32_t slot, uint64_t count);
  // Null for a slot without references.
  std::shared_ptr<RecordEpoch> At(uint32_t slot) const;

  size_t in_use() const;

 private:
  struct Slot {
    std::shared_ptr<RecordEpoch> records;
    uint64_t references = 0;
  };

  const uint32_t limit_;  // constant after construction

  mutable Mutex mu_;
  std::vector<Slot> slots_ ABSL_GUARDED_BY(mu_);
  std::vector<uint32_t> free_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<const RecordEpoch*, uint32_t> by_epoch_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_TREE_RECORD_SLOTS_H_
