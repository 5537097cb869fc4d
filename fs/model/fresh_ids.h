// SPDX-License-Identifier: Apache-2.0
// FreshIds numbers nodes. A mount may live for more than 2^32 lookups. Then the
// numbers begin anew, while the kernel still knows some old ones.
#ifndef SHUFFLEFS_FS_MODEL_FRESH_IDS_H_
#define SHUFFLEFS_FS_MODEL_FRESH_IDS_H_

#include <cstdint>

namespace shufflefs {

// Not thread-safe.
class FreshIds {
 public:
  explicit FreshIds(uint32_t first = 1) : next_(first) {}

  // A number that is not in `taken`, and not 0. `taken` is a set or a map with
  // fewer than 2^32 - 1 numbers.
  template <typename Taken>
  uint32_t Next(const Taken& taken) {
    while (next_ == 0 || taken.contains(next_)) ++next_;
    return next_++;
  }

 private:
  uint32_t next_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_MODEL_FRESH_IDS_H_
