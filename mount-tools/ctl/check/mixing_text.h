// SPDX-License-Identifier: Apache-2.0
// A mixing report as people and as programs read it. Pure functions.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_MIXING_TEXT_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_MIXING_TEXT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/strings/string_view.h"
#include "core/quality/epoch_memory.h"
#include "core/quality/mixing.h"

namespace shufflefs {

// A table: each figure beside that of a full shuffle, then the grade. `other`
// says with which epoch it was compared.
std::string MixingText(const MixingReport& report,
                       absl::string_view other = "the next epoch");

// Rows of the same table: what epochs have in common with those before them.
// Empty where no two were compared.
std::string EpochMemoryText(const EpochMemory& memory);
// An array: of each number of epochs that were looked back, from 1 on, the
// figures, or null.
nlohmann::ordered_json EpochMemoryArray(const EpochMemory& memory);

nlohmann::ordered_json MixingObject(const MixingReport& report);
// The same in one line: one JSON object; each figure is
// {"value":…,"uniform":…,"error":…}, or null where it was not measured.
std::string MixingJson(const MixingReport& report);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_MIXING_TEXT_H_
