// SPDX-License-Identifier: Apache-2.0
// The report of `shufflectl warmup`, as text and as JSON.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_WARMUP_WARMUP_TEXT_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_WARMUP_WARMUP_TEXT_H_

#include <cstdint>
#include <string>

#include "mount-tools/ctl/warmup/warm_read.h"

namespace shufflefs {

struct WarmupReport {
  std::string source;
  uint64_t files = 0;  // of the dataset
  uint64_t bytes = 0;
  uint64_t room = 0;     // bytes that the page cache may take
  bool limited = false;  // the user set the room
  uint64_t left_files = 0;
  uint64_t left_bytes = 0;
  WarmResult read;
  double seconds = 0;
  bool interrupted = false;
};

std::string WarmupText(const WarmupReport& report);
std::string WarmupJson(const WarmupReport& report);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_WARMUP_WARMUP_TEXT_H_
