// SPDX-License-Identifier: Apache-2.0
#include "core/formats/fixed_shape.h"

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

// The bytes after the header.
absl::StatusOr<uint64_t> BodyBytes(uint64_t file_bytes, uint64_t head_bytes,
                                   uint64_t record_bytes) {
  if (record_bytes == 0) {
    return absl::FailedPreconditionError("its records have no bytes");
  }
  if (file_bytes < head_bytes) {
    return absl::FailedPreconditionError(
        absl::StrCat("it has ", file_bytes, " bytes, fewer than its header of ",
                     head_bytes));
  }
  return file_bytes - head_bytes;
}

}  // namespace

absl::StatusOr<FixedShape> PlainShape(uint64_t file_bytes, uint64_t head_bytes,
                                      uint64_t record_bytes) {
  ASSIGN_OR_RETURN(const uint64_t body,
                   BodyBytes(file_bytes, head_bytes, record_bytes));
  if (const uint64_t rest = body % record_bytes; rest != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        rest, " bytes are left over after the last record of ", record_bytes));
  }
  return FixedShape{head_bytes, record_bytes, body / record_bytes};
}

absl::StatusOr<FixedShape> DeclaredShape(uint64_t file_bytes,
                                         const FixedShape& shape) {
  ASSIGN_OR_RETURN(const uint64_t body,
                   BodyBytes(file_bytes, shape.head_bytes, shape.record_bytes));
  uint64_t declared = 0;
  if (__builtin_mul_overflow(shape.record_bytes, shape.count, &declared) ||
      declared != body) {
    return absl::FailedPreconditionError(absl::StrCat(
        "its header says ", shape.count, " records of ", shape.record_bytes,
        " bytes, but ", body, " bytes follow it"));
  }
  return shape;
}

}  // namespace shufflefs
