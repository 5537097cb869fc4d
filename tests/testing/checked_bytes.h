// SPDX-License-Identifier: Apache-2.0
// Gives the bytes of a checked file (core/base/files/checked_file.h) a checksum
// that fits, as an attacker would.
#ifndef SHUFFLEFS_TESTS_TESTING_CHECKED_BYTES_H_
#define SHUFFLEFS_TESTS_TESTING_CHECKED_BYTES_H_

#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "core/base/files/checked_file.h"

namespace shufflefs::testing_support {

inline constexpr size_t kChecksumAt = offsetof(CheckedHead, checksum);
// The checksum covers everything from here on.
inline constexpr size_t kCovered = sizeof(CheckedHead);

inline void PutChecksum(uint64_t checksum, std::string& bytes) {
  std::memcpy(bytes.data() + kChecksumAt, &checksum, sizeof checksum);
}

// Nothing happens to fewer bytes than those of a head.
inline void Seal(std::string& bytes) {
  if (bytes.size() < kCovered) return;
  PutChecksum(XXH3_64bits(bytes.data() + kCovered, bytes.size() - kCovered),
              bytes);
}

// For a format that is seeded. REQUIRES: the header is there.
inline void SealSeeded(std::string& bytes, size_t header_bytes) {
  const uint64_t seed =
      XXH3_64bits(bytes.data() + kCovered, header_bytes - kCovered);
  PutChecksum(XXH3_64bits_withSeed(bytes.data() + header_bytes,
                                   bytes.size() - header_bytes, seed),
              bytes);
}

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_TESTING_CHECKED_BYTES_H_
