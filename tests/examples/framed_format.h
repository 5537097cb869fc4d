// SPDX-License-Identifier: Apache-2.0
// An example of a container format. A file begins with kFramedMagic; of each
// message come its length, in four bytes, lowest first, and then its bytes.
#ifndef SHUFFLEFS_TESTS_EXAMPLES_FRAMED_FORMAT_H_
#define SHUFFLEFS_TESTS_EXAMPLES_FRAMED_FORMAT_H_

#include "core/formats/record_format.h"

namespace shufflefs {

inline constexpr absl::string_view kFramedMagic = "framed01";
// "framed", of files named *.framed.
const RecordFormat& FramedFormat();

}  // namespace shufflefs

#endif  // SHUFFLEFS_TESTS_EXAMPLES_FRAMED_FORMAT_H_
