// SPDX-License-Identifier: Apache-2.0
// An example of a container format: messages behind their lengths, as many
// programs write them. A file begins with kFramedMagic; of each message come
// its length in bytes, four of them, the lowest first, and then the message.
#ifndef SHUFFLEFS_TESTS_EXAMPLES_FRAMED_FORMAT_H_
#define SHUFFLEFS_TESTS_EXAMPLES_FRAMED_FORMAT_H_

#include "core/formats/record_format.h"

namespace shufflefs {

inline constexpr absl::string_view kFramedMagic = "framed01";

// "framed", of files named *.framed.
const RecordFormat& FramedFormat();

}  // namespace shufflefs

#endif  // SHUFFLEFS_TESTS_EXAMPLES_FRAMED_FORMAT_H_
