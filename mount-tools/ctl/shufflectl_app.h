// SPDX-License-Identifier: Apache-2.0
// The program shufflectl without its process: parses, runs one command,
// reports. Never throws.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_SHUFFLECTL_APP_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_SHUFFLECTL_APP_H_

#include <string>
#include <vector>

#include "mount-tools/ctl/command.h"

namespace shufflefs {

// `arguments` lacks the program's name. Returns the exit status: 0; 1 if the
// command failed; 2 for wrong usage. Both print one line `shufflectl: …` to
// context.err.
int RunShufflectl(const std::vector<std::string>& arguments,
                  const CommandContext& context);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_SHUFFLECTL_APP_H_
