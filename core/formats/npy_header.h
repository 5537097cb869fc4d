// SPDX-License-Identifier: Apache-2.0
// The header of a .npy file (NumPy's NEP 1, versions 1.0, 2.0 and 3.0): a
// magic, a version, the length of the rest, and a dictionary in the syntax of
// Python. A record is a row: one step of the first dimension.
#ifndef SHUFFLEFS_CORE_FORMATS_NPY_HEADER_H_
#define SHUFFLEFS_CORE_FORMATS_NPY_HEADER_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/formats/fixed_shape.h"

namespace shufflefs {

// The dictionary may have 10,000 bytes. numpy.load accepts no more either.
inline constexpr size_t kNpyHeadBytes = 12 + 10000;

// `head` is the first kNpyHeadBytes bytes of the file, or all of it. Errors:
// FailedPrecondition, with the reason, if this is no .npy file, if its header
// does not fit its size, or if its rows cannot be moved: Fortran order (a row
// is not contiguous), objects (pickled, of any size), no dimensions.
absl::StatusOr<FixedShape> ParseNpyHeader(absl::string_view head,
                                          uint64_t file_bytes);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_NPY_HEADER_H_
