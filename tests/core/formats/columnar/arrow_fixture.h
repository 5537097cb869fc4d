// SPDX-License-Identifier: Apache-2.0
// Arrow IPC messages and footers, as flatbuffers made field by field. Their
// schemas have no columns and their bodies are any bytes.
#ifndef SHUFFLEFS_TESTS_CORE_FORMATS_COLUMNAR_ARROW_FIXTURE_H_
#define SHUFFLEFS_TESTS_CORE_FORMATS_COLUMNAR_ARROW_FIXTURE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace shufflefs::testing_support {

// Writes `number`, little-endian, over the bytes at `at`.
template <typename T>
void PutNumber(std::string& bytes, size_t at, T number) {
  if (bytes.size() < at + sizeof number) bytes.resize(at + sizeof number);
  for (size_t i = 0; i < sizeof number; ++i) {
    bytes[at + i] = static_cast<char>(static_cast<uint64_t>(number) >> 8 * i);
  }
}

enum ArrowType : uint8_t {
  kArrowSchema = 1,
  kArrowDictionary = 2,
  kArrowBatch = 3,
  kArrowTensor = 4,
};

// Where in ArrowMetadata the fields are.
inline constexpr size_t kMessageBodyAt = 24;
inline constexpr size_t kMessageTypeAt = 34;

// A table Message: its vtable at 4, itself at 16, its header (an empty table)
// at 40.
inline std::string ArrowMetadata(uint8_t type, int64_t body_bytes) {
  std::string bytes;
  PutNumber<uint32_t>(bytes, 0, 16);
  PutNumber<uint16_t>(bytes, 4, 12);   // bytes of the vtable
  PutNumber<uint16_t>(bytes, 6, 20);   // bytes of the table
  PutNumber<uint16_t>(bytes, 8, 16);   // version
  PutNumber<uint16_t>(bytes, 10, 18);  // header_type
  PutNumber<uint16_t>(bytes, 12, 4);   // header
  PutNumber<uint16_t>(bytes, 14, 8);   // bodyLength
  PutNumber<int32_t>(bytes, 16, 12);
  PutNumber<uint32_t>(bytes, 20, 20);
  PutNumber<int64_t>(bytes, kMessageBodyAt, body_bytes);
  PutNumber<uint16_t>(bytes, 32, 4);
  PutNumber<uint8_t>(bytes, kMessageTypeAt, type);
  PutNumber<uint16_t>(bytes, 36, 4);
  PutNumber<uint16_t>(bytes, 38, 4);
  PutNumber<int32_t>(bytes, 40, 4);
  PutNumber<uint32_t>(bytes, 44, 0);
  return bytes;
}

inline std::string ArrowFramed(const std::string& metadata,
                               const std::string& body = "") {
  std::string bytes = "\xFF\xFF\xFF\xFF";
  PutNumber<uint32_t>(bytes, 4, static_cast<uint32_t>(metadata.size()));
  return bytes + metadata + body;
}

// A message of 56 bytes and the body.
inline std::string ArrowMessage(uint8_t type, const std::string& body = "") {
  return ArrowFramed(ArrowMetadata(type, static_cast<int64_t>(body.size())),
                     body);
}

inline std::string ArrowEnd() {
  return std::string("\xFF\xFF\xFF\xFF\0\0\0\0", 8);
}

struct ArrowBlock {
  int64_t offset = 8;
  int32_t metadata_bytes = 56;
  int64_t body_bytes = 0;
};

inline std::string ArrowBlocks(const std::vector<ArrowBlock>& blocks) {
  std::string bytes;
  for (const ArrowBlock& block : blocks) {
    const size_t at = bytes.size();
    PutNumber<int64_t>(bytes, at, block.offset);
    PutNumber<int32_t>(bytes, at + 8, block.metadata_bytes);
    PutNumber<int32_t>(bytes, at + 12, 0);
    PutNumber<int64_t>(bytes, at + 16, block.body_bytes);
  }
  return bytes;
}

inline std::string ArrowTail(uint32_t footer_bytes) {
  std::string bytes;
  PutNumber<uint32_t>(bytes, 0, footer_bytes);
  return bytes + "ARROW1";
}

// Where the batches' blocks begin in ArrowFooterOf, behind so many
// dictionaries.
inline constexpr size_t ArrowBatchesAt(size_t dictionaries) {
  return 64 + 24 * dictionaries;
}

// A table Footer and the tail: the vtable at 4, the table at 20, the schema
// (an empty table) at 44, the dictionaries at 56, the batches behind them.
inline std::string ArrowFooterOf(const std::vector<ArrowBlock>& batches,
                                 const std::vector<ArrowBlock>& dictionaries) {
  std::string bytes;
  PutNumber<uint32_t>(bytes, 0, 20);
  PutNumber<uint16_t>(bytes, 4, 12);
  PutNumber<uint16_t>(bytes, 6, 18);
  PutNumber<uint16_t>(bytes, 8, 16);   // version
  PutNumber<uint16_t>(bytes, 10, 4);   // schema
  PutNumber<uint16_t>(bytes, 12, 8);   // dictionaries
  PutNumber<uint16_t>(bytes, 14, 12);  // recordBatches
  PutNumber<int32_t>(bytes, 20, 16);
  PutNumber<uint32_t>(bytes, 24, 20);
  PutNumber<uint32_t>(bytes, 28, 24);
  const size_t at = ArrowBatchesAt(dictionaries.size());
  PutNumber<uint32_t>(bytes, 32, static_cast<uint32_t>(at - 4 - 32));
  PutNumber<uint16_t>(bytes, 36, 4);
  PutNumber<uint16_t>(bytes, 40, 4);
  PutNumber<uint16_t>(bytes, 42, 4);
  PutNumber<int32_t>(bytes, 44, 4);
  PutNumber<uint32_t>(bytes, 52, static_cast<uint32_t>(dictionaries.size()));
  bytes += ArrowBlocks(dictionaries);
  PutNumber<uint32_t>(bytes, at - 4, static_cast<uint32_t>(batches.size()));
  bytes += ArrowBlocks(batches);
  return bytes + ArrowTail(static_cast<uint32_t>(bytes.size()));
}

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_FORMATS_COLUMNAR_ARROW_FIXTURE_H_
