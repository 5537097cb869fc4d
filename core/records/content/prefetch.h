// SPDX-License-Identifier: Apache-2.0
// Small records come from, or go to, scattered places in memory. Prefetch loads
// them into the processor's cache some records ahead.
#ifndef SHUFFLEFS_CORE_RECORDS_CONTENT_PREFETCH_H_
#define SHUFFLEFS_CORE_RECORDS_CONTENT_PREFETCH_H_

#include <algorithm>
#include <cstdint>

namespace shufflefs {

inline constexpr uint32_t kRecordsAhead = 8;

// Prefetches the first of `bytes` bytes. REQUIRES: kWrite is 0, or 1 if they
// will be written.
template <int kWrite>
void Prefetch(const char* at, uint64_t bytes) {
  constexpr uint64_t kLine = 64;  // bytes per cache line
  const uint64_t most = std::min(bytes, 8 * kLine);
  for (uint64_t line = 0; line < most; line += kLine) {
    __builtin_prefetch(at + line, kWrite);
  }
}

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTENT_PREFETCH_H_
