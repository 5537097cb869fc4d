// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli; RFC 3720, 12.1), and TFRecord's masked form. Any thread
// may call. If the processor has SSE 4.2, its instruction is used: about 8
// bytes in 3 cycles. Otherwise tables are used: about a byte per cycle.
#ifndef SHUFFLEFS_CORE_BASE_FILES_CRC32C_H_
#define SHUFFLEFS_CORE_BASE_FILES_CRC32C_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace shufflefs {

// `crc` is the checksum of some bytes. Returns that of these bytes followed by
// `bytes`.
uint32_t ExtendCrc32c(uint32_t crc, absl::string_view bytes);

// The same with tables, on any processor.
uint32_t ExtendCrc32cByTables(uint32_t crc, absl::string_view bytes);

inline uint32_t Crc32c(absl::string_view bytes) {
  return ExtendCrc32c(0, bytes);
}

// The form in which TFRecord stores a checksum. It avoids that data which
// contains its own checksums has a special checksum.
inline uint32_t MaskCrc32c(uint32_t crc) {
  return (crc >> 15 | crc << 17) + 0xa282ead8;
}
inline uint32_t MaskedCrc32c(absl::string_view bytes) {
  return MaskCrc32c(Crc32c(bytes));
}

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_FILES_CRC32C_H_
