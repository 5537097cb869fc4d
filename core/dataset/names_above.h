// SPDX-License-Identifier: Apache-2.0
// What lies beside the source and may speak of its files: DATA/labels.csv, if
// the source is DATA/train.
#ifndef SHUFFLEFS_CORE_DATASET_NAMES_ABOVE_H_
#define SHUFFLEFS_CORE_DATASET_NAMES_ABOVE_H_

#include <string>

#include "core/source/source_dir.h"

namespace shufflefs {

// Lists the directory that contains the source, once, and if source.path() is a
// link, the one that contains the link. Returns why a name in them keeps
// samples from moving, as one clause with the path of the first such name; ""
// if none does. A directory that cannot be read, or that a mount at
// `mountpoint` (may be
// "") covers, is told to the log, and counts as empty.
std::string FindNamesAbove(const SourceDir& source,
                           const std::string& mountpoint);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_DATASET_NAMES_ABOVE_H_
