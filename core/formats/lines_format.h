// SPDX-License-Identifier: Apache-2.0
// Files of lines: LIBSVM, CSV, JSON Lines, plain text.
#ifndef SHUFFLEFS_CORE_FORMATS_LINES_FORMAT_H_
#define SHUFFLEFS_CORE_FORMATS_LINES_FORMAT_H_

#include "core/formats/record_format.h"

namespace shufflefs {

// "lines". Records begin after record.header lines. record.csv applies to .csv
// and .tsv files.
const RecordFormat& LinesFormat();

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_LINES_FORMAT_H_
