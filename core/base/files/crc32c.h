// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli; RFC 3720, 12.1), and the masked one of TFRecord. Any
// thread may call. Uses the instruction of SSE 4.2 where the processor has it,
// about 8 bytes in 3 cycles, else tables, about a byte a cycle.
#ifndef SHUFFLEFS_CORE_BASE_FILES_CRC32C_H_
#define SHUFFLEFS_CORE_BASE_FILES_CRC32C_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace shufflefs {

// The checksum of the bytes of which `crc` is one, and `bytes` behind them.
uint32_t ExtendCrc32c(uint32_t crc, absl::string_view bytes);

// The same by tables, on any processor.
uint32_t ExtendCrc32cByTables(uint32_t crc, absl::string_view bytes);

inline uint32_t Crc32c(absl::string_view bytes) {
  return ExtendCrc32c(0, bytes);
}

// As TFRecord stores it, so that the checksum of bytes that hold checksums is
// none of theirs.
inline uint32_t MaskCrc32c(uint32_t crc) {
  return (crc >> 15 | crc << 17) + 0xa282ead8;
}
inline uint32_t MaskedCrc32c(absl::string_view bytes) {
  return MaskCrc32c(Crc32c(bytes));
}

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_FILES_CRC32C_H_
