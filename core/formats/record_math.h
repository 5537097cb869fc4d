// SPDX-License-Identifier: Apache-2.0
// Small calculations that orders of records share.
#ifndef SHUFFLEFS_CORE_FORMATS_RECORD_MATH_H_
#define SHUFFLEFS_CORE_FORMATS_RECORD_MATH_H_

#include <algorithm>
#include <cstdint>

#include "core/formats/record_table.h"

namespace shufflefs {

// REQUIRES: b > 0.
inline uint64_t DivideUp(uint64_t a, uint64_t b) {
  return a / b + (a % b != 0);
}

// Bytes per record in the plan of a part (core/records/order/shuffled_file.h).
constexpr uint64_t kPlanBytes = 32;

// The most records that a part of at most `most_bytes` bytes may have. Planning
// many tiny records takes many times their bytes. So the plan takes no more
// than such a part, and no more than 128 MiB.
inline uint64_t MostRecordsOfPart(uint64_t most_bytes) {
  return std::clamp<uint64_t>(most_bytes / kPlanBytes, 1, uint64_t{1} << 22);
}

inline uint64_t BytesOfAll(const RecordTable& table) {
  return table.begin(table.count()) - table.begin(0);
}

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_RECORD_MATH_H_
