// SPDX-License-Identifier: Apache-2.0
#include "core/base/files/crc32c.h"

#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

std::string Ascending() {
  std::string bytes;
  for (char c = 0; c < 32; ++c) bytes += c;
  return bytes;
}

// The SCSI read command of RFC 3720.
std::string ReadCommand() {
  std::string bytes(48, '\0');
  bytes[0] = 0x01;
  bytes[1] = static_cast<char>(0xc0);
  bytes[16] = 0x14;
  bytes[22] = 0x04;
  bytes[27] = 0x14;
  bytes[31] = 0x18;
  bytes[32] = 0x28;
  bytes[40] = 0x02;
  return bytes;
}

TEST(Crc32cTest, Rfc3720) {
  const std::string ascending = Ascending();
  const std::pair<std::string, uint32_t> vectors[] = {
      {std::string(32, '\0'), 0x8a9136aa},
      {std::string(32, '\xff'), 0x62a8ab43},
      {ascending, 0x46dd794e},
      {std::string(ascending.rbegin(), ascending.rend()), 0x113fdb5c},
      {ReadCommand(), 0xd9963a56},
      {"123456789", 0xe3069283},
      {"", 0},
  };
  for (const auto& [bytes, crc] : vectors) {
    EXPECT_EQ(Crc32c(bytes), crc);
    EXPECT_EQ(ExtendCrc32cByTables(0, bytes), crc);
  }
}

// From files that TensorFlow wrote.
TEST(Crc32cTest, MaskedAsInTfrecord) {
  EXPECT_EQ(MaskedCrc32c({"\x18\0\0\0\0\0\0\0", 8}), 0x224b7fa3u);
  EXPECT_EQ(MaskedCrc32c("\x1a\x11"
                         "CRC test, one two"),
            0x5794d08au);
}

// Bit by bit: the definition.
uint32_t Slowly(const std::string& bytes) {
  uint32_t crc = ~uint32_t{0};
  for (const char byte : bytes) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) {
      crc = crc >> 1 ^ (crc % 2 == 1 ? 0x82f63b78 : 0);
    }
  }
  return ~crc;
}

TEST(Crc32cTest, AnyBytesInAnyPieces) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937_64 rng(seed);
  for (int round = 0; round < 500; ++round) {
    std::string bytes(rng() % 200, '\0');
    for (char& byte : bytes) byte = static_cast<char>(rng());
    const uint32_t crc = Slowly(bytes);
    ASSERT_EQ(Crc32c(bytes), crc);
    ASSERT_EQ(ExtendCrc32cByTables(0, bytes), crc);
    const size_t cut = rng() % (bytes.size() + 1);
    const absl::string_view head = absl::string_view(bytes).substr(0, cut);
    const absl::string_view tail = absl::string_view(bytes).substr(cut);
    ASSERT_EQ(ExtendCrc32c(Crc32c(head), tail), crc);
    ASSERT_EQ(ExtendCrc32cByTables(ExtendCrc32cByTables(0, head), tail), crc);
  }
}

}  // namespace
}  // namespace shufflefs
