// SPDX-License-Identifier: Apache-2.0
#include "core/formats/idx_header.h"

#include "absl/strings/str_cat.h"

namespace shufflefs {
namespace {

constexpr size_t kMagicBytes = 4;
constexpr size_t kDimensionBytes = 4;

uint8_t ByteAt(absl::string_view bytes, size_t at) {
  return static_cast<uint8_t>(bytes[at]);
}

// Bytes per element of `type`. 0 if there is no such type.
uint64_t ElementBytes(uint8_t type) {
  switch (type) {
    case 0x08:  // unsigned
    case 0x09:  // signed
      return 1;
    case 0x0B:
      return 2;
    case 0x0C:
    case 0x0D:  // float
      return 4;
    case 0x0E:  // double
      return 8;
    default:
      return 0;
  }
}

uint64_t Dimension(absl::string_view head, size_t index) {
  uint64_t value = 0;
  for (size_t i = 0; i < kDimensionBytes; ++i) {
    value =
        value << 8 | ByteAt(head, kMagicBytes + kDimensionBytes * index + i);
  }
  return value;
}

}  // namespace

absl::StatusOr<FixedShape> ParseIdxHeader(absl::string_view head,
                                          uint64_t file_bytes) {
  if (head.size() < kMagicBytes || head[0] != 0 || head[1] != 0 ||
      ElementBytes(ByteAt(head, 2)) == 0) {
    return absl::FailedPreconditionError("not an idx file");
  }
  const size_t dimensions = ByteAt(head, 3);
  if (dimensions == 0) {
    return absl::FailedPreconditionError("an idx file of no dimensions");
  }
  FixedShape shape;
  shape.head_bytes = kMagicBytes + kDimensionBytes * dimensions;
  if (head.size() < shape.head_bytes) {
    return absl::FailedPreconditionError("it ends inside its idx header");
  }
  shape.count = Dimension(head, 0);
  shape.record_bytes = ElementBytes(ByteAt(head, 2));
  for (size_t i = 1; i < dimensions; ++i) {
    if (__builtin_mul_overflow(shape.record_bytes, Dimension(head, i),
                               &shape.record_bytes)) {
      return absl::FailedPreconditionError(
          "by its idx header, records have more than 2^64 bytes");
    }
  }
  return DeclaredShape(file_bytes, shape);
}

}  // namespace shufflefs
