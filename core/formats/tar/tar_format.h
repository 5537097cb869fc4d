// SPDX-License-Identifier: Apache-2.0
// Tar files of WebDataset samples.
#ifndef SHUFFLEFS_CORE_FORMATS_TAR_TAR_FORMAT_H_
#define SHUFFLEFS_CORE_FORMATS_TAR_TAR_FORMAT_H_

#include "core/formats/record_format.h"

namespace shufflefs {

// "tar". A record is the members of one sample.
const RecordFormat& TarFormat();

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_TAR_TAR_FORMAT_H_
