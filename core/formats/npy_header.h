// SPDX-License-Identifier: Apache-2.0
// The header of a .npy file (NumPy's NEP 1, versions 1.0, 2.0 and 3.0): a
// magic, a version, the length of the rest, and a dictionary in the syntax of
// Python. A record is a row: what one step of the first dimension holds.
#ifndef SHUFFLEFS_CORE_FORMATS_NPY_HEADER_H_
#define SHUFFLEFS_CORE_FORMATS_NPY_HEADER_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/formats/fixed_shape.h"

namespace shufflefs {

// The dictionary may have 10,000 bytes: numpy.load takes no more either.
inline constexpr size_t kNpyHeadBytes = 12 + 10000;

// `head`: the first kNpyHeadBytes bytes of the file, or all of it. Errors:
// FailedPrecondition if this is no .npy file, one whose header does not fit
// its size, or one of which no row can be moved, and why: Fortran order (a row
// is not in one piece), objects (pickled, of any size), no dimensions.
absl::StatusOr<FixedShape> ParseNpyHeader(absl::string_view head,
                                          uint64_t file_bytes);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_NPY_HEADER_H_
