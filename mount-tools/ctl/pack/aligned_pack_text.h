// SPDX-License-Identifier: Apache-2.0
// The texts of shufflectl pack --align: progress and result. Pure functions.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_PACK_ALIGNED_PACK_TEXT_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_PACK_ALIGNED_PACK_TEXT_H_

#include <cstdint>
#include <string>

#include "core/records/aligned/aligned_pack.h"

namespace shufflefs {

struct AlignedPackReport {
  std::string source;  // absolute, like the next
  std::string destination;
  uint64_t page_bytes = 0;
  PageFit fit = PageFit::kNext;
  AlignResult result;
  double seconds = 0;  // from the start of the command
};

// One line without its end. `begun` is the progress at the start of this run,
// `seconds` ago.
std::string AlignProgressText(const AlignProgress& begun,
                              const AlignProgress& now, double seconds);
std::string AlignedPackText(const AlignedPackReport& report);
std::string AlignedPackJson(const AlignedPackReport& report);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_PACK_ALIGNED_PACK_TEXT_H_
