// SPDX-License-Identifier: Apache-2.0
// What `status` says of a performance tier.
#ifndef SHUFFLEFS_CORE_STAGING_TIER_STATUS_H_
#define SHUFFLEFS_CORE_STAGING_TIER_STATUS_H_

#include <cstdint>
#include <string>

namespace shufflefs {

// For `status`. Bytes, or counts since the mount.
struct TierStatus {
  uint64_t capacity = 0;
  uint64_t staged_bytes = 0;    // in the tier now, as the device counts them
  uint64_t copied_bytes = 0;    // of files, read from the source for it
  uint64_t captured_bytes = 0;  // of files, kept of what readers brought
  uint64_t tier_bytes = 0;      // of files, that readers got from it
  uint64_t source_bytes = 0;    // that were read from the source for readers
  // While it copies, lately, and while it is read; 0: not known.
  double copy_bytes_per_second = 0;
  double read_bytes_per_second = 0;
  std::string trouble;  // one line: what fails now; "" if nothing does
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_TIER_STATUS_H_
