// SPDX-License-Identifier: Apache-2.0
// What there is to know of a container whose records all have one size.
#ifndef SHUFFLEFS_CORE_FORMATS_FIXED_SHAPE_H_
#define SHUFFLEFS_CORE_FORMATS_FIXED_SHAPE_H_

#include <cstdint>

#include "absl/status/statusor.h"

namespace shufflefs {

// As the functions that make one leave it: record_bytes > 0, and
// head_bytes + record_bytes * count is the size of the file.
struct FixedShape {
  uint64_t head_bytes = 0;  // before the first record
  uint64_t record_bytes = 0;
  uint64_t count = 0;  // may be 0
};

// The shape of a file that says nothing about itself (CIFAR's binary files).
// Errors: FailedPrecondition if the file is shorter than its header, a record
// has no bytes, or bytes are left over that are no whole record, and how many.
absl::StatusOr<FixedShape> PlainShape(uint64_t file_bytes, uint64_t head_bytes,
                                      uint64_t record_bytes);

// `shape` if it is that of a file of `file_bytes`. Its fields may be anything:
// a header says so. Errors: FailedPrecondition if a record has no bytes, or
// header and records together are not the file, to the byte.
absl::StatusOr<FixedShape> DeclaredShape(uint64_t file_bytes,
                                         const FixedShape& shape);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_FIXED_SHAPE_H_
