// SPDX-License-Identifier: Apache-2.0
// The header of an idx file, the format of MNIST: two zero bytes, the type of
// an element, the number of dimensions, then each dimension in 4 bytes, most
// significant first. A record is one step of the first dimension: an image, a
// label.
#ifndef SHUFFLEFS_CORE_FORMATS_IDX_HEADER_H_
#define SHUFFLEFS_CORE_FORMATS_IDX_HEADER_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/formats/fixed_shape.h"

namespace shufflefs {

// No idx header is longer.
inline constexpr size_t kIdxHeadBytes = 4 + 4 * 255;

// `head` is the first kIdxHeadBytes bytes of the file, or all of it. Errors:
// FailedPrecondition, with the reason, if this is no idx file or if its header
// does not fit its size.
absl::StatusOr<FixedShape> ParseIdxHeader(absl::string_view head,
                                          uint64_t file_bytes);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_IDX_HEADER_H_
