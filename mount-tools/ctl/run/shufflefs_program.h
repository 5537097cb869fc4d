// SPDX-License-Identifier: Apache-2.0
// Where the program is that mounts.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_RUN_SHUFFLEFS_PROGRAM_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_RUN_SHUFFLEFS_PROGRAM_H_

#include <string>

namespace shufflefs {

// The path of shufflefs beside this program. If there is none, "shufflefs",
// which is to be found in PATH.
std::string ShufflefsProgram();

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_RUN_SHUFFLEFS_PROGRAM_H_
