// SPDX-License-Identifier: Apache-2.0
// The texts of shufflectl pack: progress and result. Pure functions.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_PACK_PACK_TEXT_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_PACK_PACK_TEXT_H_

#include <cstdint>
#include <string>

#include "core/staging/pack/pack_writer.h"

namespace shufflefs {

struct PackReport {
  std::string source;  // absolute, like the next
  std::string destination;
  PackResult result;
  bool names_stay = false;      // unless a mount says `substitute = directory`
  uint64_t unpacked_files = 0;  // of the source, that no view moves
  uint64_t memory_bytes = 0;    // maximum that a pass filled
  double seconds = 0;           // from the start of the command
};

// One line without its end. `begun` is the progress at the start of this run,
// `seconds` ago.
std::string PackProgressText(const PackProgress& begun, const PackProgress& now,
                             double seconds);
std::string PackText(const PackReport& report);
std::string PackJson(const PackReport& report);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_PACK_PACK_TEXT_H_
