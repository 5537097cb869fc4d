// SPDX-License-Identifier: Apache-2.0
// Walks values in Thrift's compact protocol, as the metadata of Parquet files
// is written: finds fields and elements as ranges of bytes and skips the rest.
// It never looks outside its bytes, whatever they are, and takes time in
// proportion to them.
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

// As the protocol numbers them. A field that is a bool has its value in its
// type and no bytes; as an element it has one.
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

// A value that was walked over: [begin, end) of the bytes.
struct ThriftValue {
  ThriftType type = ThriftType::kStruct;
  size_t begin = 0;
  size_t end = 0;
};

// A view of the bytes, which must outlive it. Immutable. Errors are DataLoss
// and name the byte of the file.
class ThriftCompact {
 public:
  // Containers inside containers, at most.
  static constexpr int kMaxDepth = 32;

  // `bytes` begin at byte `file_offset` of the file.
  ThriftCompact(absl::string_view bytes, uint64_t file_offset)
      : bytes_(bytes), file_offset_(file_offset) {}

  using Field = std::function<absl::Status(int id, const ThriftValue& value)>;
  using Element = std::function<absl::Status(const ThriftValue& value)>;

  // Visits the fields of the struct that begins at `begin`, which are valid to
  // their ends. Their ids must ascend, as every writer of Parquet writes them:
  // so none comes twice. An error of `visit` ends the walk. Returns where the
  // struct ends.
  absl::StatusOr<size_t> VisitFields(size_t begin, const Field& visit) const;

  // Visits the elements of a list, which must be of `element`. They follow each
  // other without a gap, up to the end of the list.
  absl::Status VisitElements(const ThriftValue& list, ThriftType element,
                             const Element& visit) const;

  // The number that `value` holds, which must be a `type`: kI16, kI32 or kI64.
  absl::StatusOr<int64_t> Integer(const ThriftValue& value,
                                  ThriftType type) const;
  // The bytes that `value` holds, which must be kBinary.
  absl::StatusOr<absl::string_view> Binary(const ThriftValue& value) const;

  // That the byte at `at` makes no sense.
  absl::Status Damaged(size_t at) const;

 private:
  struct Collection {
    ThriftType element;
    uint64_t count;
  };

  // Each reads at `at` and moves it behind what was read.
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

// The bytes of a number as the protocol writes it, zigzag.
size_t ThriftIntegerBytes(int64_t number);
void AppendThriftInteger(int64_t number, std::string& bytes);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_COLUMNAR_THRIFT_COMPACT_H_
