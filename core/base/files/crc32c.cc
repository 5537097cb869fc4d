// SPDX-License-Identifier: Apache-2.0
#include "core/base/files/crc32c.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

#ifdef __x86_64__
#include <nmmintrin.h>
#endif

namespace shufflefs {
namespace {

static_assert(std::endian::native == std::endian::little,
              "words are read as they are");

// The polynomial with its bits reversed.
constexpr uint32_t kPolynomial = 0x82f63b78;

// tables[k][b]: the effect of byte `b`, followed by k zeros, on the checksum.
using CrcTables = std::array<std::array<uint32_t, 256>, 8>;

constexpr CrcTables MakeTables() {
  CrcTables tables = {};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = crc >> 1 ^ (crc % 2 == 1 ? kPolynomial : 0);
    }
    tables[0][byte] = crc;
  }
  for (size_t k = 1; k < tables.size(); ++k) {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const uint32_t crc = tables[k - 1][byte];
      tables[k][byte] = crc >> 8 ^ tables[0][crc & 0xff];
    }
  }
  return tables;
}

constexpr CrcTables kTables = MakeTables();

uint64_t WordAt(const char* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) uint32_t ExtendByInstruction(
    uint32_t crc, absl::string_view bytes) {
  const char* at = bytes.data();
  size_t left = bytes.size();
  uint64_t state = ~crc;
  for (; left >= 8; at += 8, left -= 8) {
    state = _mm_crc32_u64(state, WordAt(at));
  }
  auto last = static_cast<uint32_t>(state);
  for (; left > 0; ++at, --left) {
    last = _mm_crc32_u8(last, static_cast<uint8_t>(*at));
  }
  return ~last;
}
#endif

}  // namespace

uint32_t ExtendCrc32cByTables(uint32_t crc, absl::string_view bytes) {
  const char* at = bytes.data();
  size_t left = bytes.size();
  crc = ~crc;
  for (; left >= 8; at += 8, left -= 8) {
    const uint64_t word = WordAt(at) ^ crc;
    crc = 0;
    for (int k = 0; k < 8; ++k) {
      crc ^= kTables[7 - k][word >> 8 * k & 0xff];
    }
  }
  for (; left > 0; ++at, --left) {
    crc = crc >> 8 ^ kTables[0][(crc ^ static_cast<uint8_t>(*at)) & 0xff];
  }
  return ~crc;
}

uint32_t ExtendCrc32c(uint32_t crc, absl::string_view bytes) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("sse4.2")) return ExtendByInstruction(crc, bytes);
#endif
  return ExtendCrc32cByTables(crc, bytes);
}

}  // namespace shufflefs
