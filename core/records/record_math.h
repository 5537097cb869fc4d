// SPDX-License-Identifier: Apache-2.0
// Small sums that orders of records share.
#ifndef SHUFFLEFS_CORE_RECORDS_RECORD_MATH_H_
#define SHUFFLEFS_CORE_RECORDS_RECORD_MATH_H_

#include <cstdint>

#include "core/records/record_table.h"

namespace shufflefs {

// REQUIRES: b > 0.
inline uint64_t DivideUp(uint64_t a, uint64_t b) {
  return a / b + (a % b != 0);
}

inline uint64_t BytesOfAll(const RecordTable& table) {
  return table.begin(table.count()) - table.begin(0);
}

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_RECORD_MATH_H_
