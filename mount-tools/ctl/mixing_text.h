// SPDX-License-Identifier: Apache-2.0
// A mixing report as people and as programs read it. Pure functions.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_MIXING_TEXT_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_MIXING_TEXT_H_

#include <string>

#include "core/mixing.h"

namespace shufflefs {

// A table: each figure beside that of a full shuffle, then the grade.
std::string MixingText(const MixingReport& report);

// One JSON object; each figure is {"value":…,"uniform":…,"error":…}, or null
// where it was not measured.
std::string MixingJson(const MixingReport& report);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_MIXING_TEXT_H_
