// SPDX-License-Identifier: Apache-2.0
// Formats whose records all have one size, given by the first bytes or by the
// user.
#ifndef SHUFFLEFS_CORE_FORMATS_FIXED_FORMATS_H_
#define SHUFFLEFS_CORE_FORMATS_FIXED_FORMATS_H_

#include "core/formats/record_format.h"

namespace shufflefs {

// "fixed": records of record.bytes bytes, after record.header bytes.
const RecordFormat& FixedFormat();
// "npy": the rows of a NumPy array.
const RecordFormat& NpyFormat();
// "idx": the items of an IDX file, such as MNIST's.
const RecordFormat& IdxFormat();

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_FIXED_FORMATS_H_
