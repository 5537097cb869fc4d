// SPDX-License-Identifier: Apache-2.0
#ifndef SHUFFLEFS_CORE_BASE_FILES_READ_AT_H_
#define SHUFFLEFS_CORE_BASE_FILES_READ_AT_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace shufflefs {

// The status of a read at `offset` that failed with `error`. The text does not
// name the path; the caller annotates it.
absl::Status ReadFailure(int error, uint64_t offset);
// EIO, for a file that ends before `offset` but should not.
absl::Status EndsEarly(uint64_t offset);

// Reads until `size` bytes came or the file ends. Returns how many came. Blocks
// on the source. Errors: those of ReadFailure.
absl::StatusOr<size_t> ReadAt(int fd, uint64_t offset, char* into,
                              size_t size);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_FILES_READ_AT_H_
