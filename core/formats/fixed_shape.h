// SPDX-License-Identifier: Apache-2.0
// FixedShape describes a container whose records all have one size.
#ifndef SHUFFLEFS_CORE_FORMATS_FIXED_SHAPE_H_
#define SHUFFLEFS_CORE_FORMATS_FIXED_SHAPE_H_

#include <cstdint>

#include "absl/status/statusor.h"

namespace shufflefs {

// The functions that make one ensure record_bytes > 0, and that head_bytes +
// record_bytes * count is the size of the file.
struct FixedShape {
  uint64_t head_bytes = 0;  // before the first record
  uint64_t record_bytes = 0;
  uint64_t count = 0;  // may be 0
};

// The shape of a file without a header of its own format (CIFAR's binary
// files). Errors: FailedPrecondition if the file is shorter than its header, if
// a record has no bytes, or if bytes are left over that are no whole record,
// with their number.
absl::StatusOr<FixedShape> PlainShape(uint64_t file_bytes, uint64_t head_bytes,
                                      uint64_t record_bytes);

// Returns `shape` if it fits a file of `file_bytes`. Its fields may be
// anything, because a header states them. Errors: FailedPrecondition if a
// record has no bytes, or if header and records together are not exactly the
// file.
absl::StatusOr<FixedShape> DeclaredShape(uint64_t file_bytes,
                                         const FixedShape& shape);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_FIXED_SHAPE_H_
