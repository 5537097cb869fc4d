// SPDX-License-Identifier: Apache-2.0
// Files of lines: LIBSVM, CSV, JSON Lines, plain text.
#ifndef SHUFFLEFS_CORE_FORMATS_LINES_FORMAT_H_
#define SHUFFLEFS_CORE_FORMATS_LINES_FORMAT_H_

#include "core/formats/record_format.h"

namespace shufflefs {

// "lines". Behind record.header lines; those of .csv and .tsv files by
// record.csv.
const RecordFormat& LinesFormat();

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_LINES_FORMAT_H_
