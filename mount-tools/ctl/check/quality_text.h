// SPDX-License-Identifier: Apache-2.0
// A report of shuffle quality for people and for programs. Pure functions.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_QUALITY_TEXT_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_QUALITY_TEXT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/strings/string_view.h"
#include "core/quality/epoch_memory.h"
#include "core/quality/shuffle_quality.h"

namespace shufflefs {

// A table: each figure beside that of a full shuffle, then the grade. `other`
// names the epoch it was compared with.
std::string QualityText(const QualityReport& report,
                        absl::string_view other = "the next epoch");

// Rows of the same table: what epochs have in common with earlier ones. Empty
// if no two were compared.
std::string EpochMemoryText(const EpochMemory& memory);
// An array: for each distance in epochs, from 1 on, the figures, or null.
nlohmann::ordered_json EpochMemoryArray(const EpochMemory& memory);

// Each figure is {"value":…,"uniform":…,"error":…}, or null if it was not
// measured.
nlohmann::ordered_json QualityObject(const QualityReport& report);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_QUALITY_TEXT_H_
