// SPDX-License-Identifier: Apache-2.0
// OrderMemory notices whether the nodes of a job open names in the same order
// in each pass, as a sampler without shuffle gives it.
//
// If it is not certain where a pass ended, a random order shows it again in the
// next pass: names come again in other places. A fixed order never does. What
// was missed at the beginning of one pass comes at the beginning of the next,
// and seems to be the end of the one before.
#ifndef SHUFFLEFS_CORE_JOB_EPOCHS_ORDER_MEMORY_H_
#define SHUFFLEFS_CORE_JOB_EPOCHS_ORDER_MEMORY_H_

#include <cstdint>
#include <deque>

#include "absl/container/flat_hash_map.h"

namespace shufflefs {

// Not thread-safe. Memory: at most some 200 KiB, because it watches only some
// 4,000 of the names.
class OrderMemory {
 public:
  explicit OrderMemory(uint64_t names);

  // Node `node` opened `name` as its open number `number`.
  void Note(uint32_t node, uint64_t name, uint64_t number);
  // Returns false if nodes surely open names in another order than before. In
  // doubt the order is fixed.
  bool is_fixed() const;

 private:
  struct Place {
    uint32_t node = 0;
    uint64_t number = 0;
  };

  const uint64_t every_;                       // one name of so many is watched
  absl::flat_hash_map<uint64_t, Place> last_;  // by name
  // By how much the numbers of the last opens were above those of the same
  // names before, on the same node.
  std::deque<int64_t> gaps_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_JOB_EPOCHS_ORDER_MEMORY_H_
