// SPDX-License-Identifier: Apache-2.0
// Walks values in Thrift's compact protocol, in which the metadata of Parquet
// files is written. It finds fields and elements as ranges of bytes and skips
// the rest. It never reads outside its bytes, whatever they contain, and takes
// time in proportion to them.
#ifndef SHUFFLEFS_CORE_FORMATS_COLUMNAR_THRIFT_COMPACT_H_
#define SHUFFLEFS_CORE_FORMATS_COLUMNAR_THRIFT_COMPACT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace shufflefs {

// Numbered as in the protocol. A bool field has its value in its type and no
// bytes. As an element it has one byte.
enum class ThriftType : uint8_t {
  kTrue = 1,
  kFalse = 2,
  kByte = 3,
  kI16 = 4,
  kI32 = 5,
  kI64 = 6,
  kDouble = 7,
  kBinary = 8,
  kList = 9,
  kSet = 10,
  kMap = 11,
  kStruct = 12,
  kUuid = 13,
};

// A value that was parsed: [begin, end) of the bytes.
struct ThriftValue {
  ThriftType type = ThriftType::kStruct;
  size_t begin = 0;
  size_t end = 0;
};

// A view of the bytes, which must outlive it. Immutable. Errors are DataLoss
// and name the byte of the file.
class ThriftCompact {
 public:
  // Maximum nesting of containers.
  static constexpr int kMaxDepth = 32;

  // `bytes` begin at byte `file_offset` of the file.
  ThriftCompact(absl::string_view bytes, uint64_t file_offset)
      : bytes_(bytes), file_offset_(file_offset) {}

  using Field = std::function<absl::Status(int id, const ThriftValue& value)>;
  using Element = std::function<absl::Status(const ThriftValue& value)>;

  // Visits the fields of the struct that begins at `begin`. The visited ranges
  // are valid. Ids must ascend, as all writers of Parquet write them, so no id
  // occurs twice. An error of `visit` ends the walk. Returns where the struct
  // ends.
  absl::StatusOr<size_t> VisitFields(size_t begin, const Field& visit) const;

  // Visits the elements of a list, which must have type `element`. They are
  // adjacent, up to the end of the list.
  absl::Status VisitElements(const ThriftValue& list, ThriftType element,
                             const Element& visit) const;

  // The number in `value`, whose type must be `type`: kI16, kI32 or kI64.
  absl::StatusOr<int64_t> Integer(const ThriftValue& value,
                                  ThriftType type) const;
  // The bytes in `value`, whose type must be kBinary.
  absl::StatusOr<absl::string_view> Binary(const ThriftValue& value) const;

  // The error that the byte at `at` is invalid.
  absl::Status Damaged(size_t at) const;

 private:
  struct Collection {
    ThriftType element;
    uint64_t count;
  };

  // Each reads at `at` and advances it.
  absl::StatusOr<uint8_t> Byte(size_t& at) const;
  absl::StatusOr<uint64_t> Varint(size_t& at) const;
  absl::StatusOr<Collection> CollectionHeader(size_t& at) const;
  absl::Status Skip(ThriftType type, size_t& at, int depth) const;
  absl::Status SkipBytes(uint64_t count, size_t& at) const;
  absl::Status SkipMap(size_t& at, int depth) const;
  absl::Status SkipElement(ThriftType type, size_t& at, int depth) const;
  absl::StatusOr<size_t> WalkFields(size_t begin, int depth,
                                    const Field* visit) const;

  absl::string_view bytes_;
  uint64_t file_offset_;
};

// The number of bytes that the protocol needs for a number (zigzag).
size_t ThriftIntegerBytes(int64_t number);
void AppendThriftInteger(int64_t number, std::string& bytes);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_COLUMNAR_THRIFT_COMPACT_H_
