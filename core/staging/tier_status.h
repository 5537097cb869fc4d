// SPDX-License-Identifier: Apache-2.0
// TierStatus is what `status` reports about a performance tier.
#ifndef SHUFFLEFS_CORE_STAGING_TIER_STATUS_H_
#define SHUFFLEFS_CORE_STAGING_TIER_STATUS_H_

#include <cstdint>
#include <string>

namespace shufflefs {

// Bytes, or counts since the mount.
struct TierStatus {
  uint64_t capacity = 0;
  uint64_t staged_bytes = 0;    // in the tier now, as the device counts
  uint64_t copied_bytes = 0;    // of files, read from the source for the tier
  uint64_t captured_bytes = 0;  // of files, kept from readers' reads
  uint64_t tier_bytes = 0;      // of files, that readers got from the tier
  uint64_t source_bytes = 0;    // read from the source for readers
  // Recent speed of copying, and of reading from the tier. 0: unknown.
  double copy_bytes_per_second = 0;
  double read_bytes_per_second = 0;
  std::string health;  // one line: what fails now; "" if nothing does
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_TIER_STATUS_H_
