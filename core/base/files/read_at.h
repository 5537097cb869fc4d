// SPDX-License-Identifier: Apache-2.0
#ifndef SHUFFLEFS_CORE_BASE_FILES_READ_AT_H_
#define SHUFFLEFS_CORE_BASE_FILES_READ_AT_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace shufflefs {

// The status of a read of the byte at `offset` that failed with `error`. No
// text names the path; the caller annotates.
absl::Status ReadFailure(int error, uint64_t offset);
// Of a file that has no byte at `offset` where it should: EIO.
absl::Status EndsEarly(uint64_t offset);

// Reads until `size` bytes came or the file ends, and returns how many came.
// Blocks for the source. Errors: those of ReadFailure.
absl::StatusOr<size_t> ReadAt(int fd, uint64_t offset, char* into,
                              size_t size);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_FILES_READ_AT_H_
